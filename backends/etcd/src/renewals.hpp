#pragma once

#include "office.hpp"

namespace holdfast::etcd {

/// One round of renewals: each lease is kept alive once, and every key looked for, sixty at a time. A lease that
/// lives says nothing of a key that was deleted; and old servers tell of lives that are over.
///
/// Thread safety: safe.
class renewals : public std::enable_shared_from_this<renewals> {
 public:
  renewals(office& of, const std::vector<spi::claim>& held, spi::completion<std::vector<spi::renewal_outcome>> done);
  void start();

 private:
  void keep_alive(leases::id lease);
  void look_for(std::size_t from, std::size_t to);
  void one_less();
  void tell();

  office& office_;
  spi::completion<std::vector<spi::renewal_outcome>> done_;
  std::vector<ledger::page> tickets_;
  std::vector<std::chrono::nanoseconds> ttls_;
  std::vector<ledger::position> positions_;  // when this began

  std::mutex mutex_;
  spi::time_point sent_;
  std::map<leases::id, result<spi::time_point>> terms_;
  std::vector<spi::renewal> there_;
  std::size_t left_ = 0;
};

}  // namespace holdfast::etcd
