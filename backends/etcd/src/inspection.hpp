#pragma once

#include "census.hpp"
#include "office.hpp"

#include <deque>
#include <set>

namespace holdfast::etcd {

/// Reads the keys of some ranges, page by page.
class reading : public std::enable_shared_from_this<reading> {
 public:
  using whole = std::function<void(result<std::map<std::string, lock_state>>)>;
  reading(office& of, std::deque<key_range> where, whole done)
      : office_(of), where_(std::move(where)), census_(of.names), done_(std::move(done)) {}
  void start();

 private:
  office& office_;
  std::deque<key_range> where_;
  census census_;
  whole done_;
};

/// Looks at every lock whose name begins with a prefix, and asks how long the leases of the holders still last.
class inspection : public std::enable_shared_from_this<inspection> {
 public:
  inspection(office& of, std::string prefix, spi::completion<std::vector<entry>> done)
      : office_(of), prefix_(std::move(prefix)), done_(std::move(done)) {}
  void start();

 private:
  void on_read(std::map<std::string, lock_state> all);
  void one_less();
  void tell();
  participant describe(const present& who, const lock_state& of, bool holds) const;

  office& office_;
  const std::string prefix_;
  spi::completion<std::vector<entry>> done_;
  std::map<std::string, lock_state> all_;
  std::mutex mutex_;
  std::map<leases::id, std::chrono::seconds> remaining_;
  std::size_t left_ = 0;
};

}  // namespace holdfast::etcd
