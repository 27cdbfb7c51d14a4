#pragma once

#include "office.hpp"

#include <mutex>
#include <set>

namespace holdfast::etcd {

/// The numbers behind semaphores and latches; cells and fences.
///
/// A step that must not be carried out twice writes beside its result that it was, under its id, for as long as the
/// client's session lasts or until the answer is known.
///
/// Thread safety: safe.
class number_desk {
 public:
  explicit number_desk(office& of) : office_(of) {}

  void count(const spi::count_request& request, spi::caller from, spi::completion<spi::count_reply> done);

  void load_cell(const std::string& name, spi::caller from, spi::completion<spi::cell_value> done);
  void exchange_cell(const std::string& name, std::uint64_t expected, const std::string& value, const spi::owner_id& id,
                     spi::caller from, spi::completion<bool> done);
  void admit(const std::string& name, fencing_token token, spi::caller from, spi::completion<fencing_token> done);

 private:
  struct counting {
    spi::count_request request;
    spi::caller from;
    spi::completion<spi::count_reply> done;
    unsigned tries = 0;
  };
  using step = std::shared_ptr<counting>;

  void read(const step& s);
  void on_read(const step& s, const etcdserverpb::TxnResponse& said);
  void write(const step& s, std::int64_t seen, bool there, std::int64_t next, spi::count_reply reply);
  std::optional<failure> other_use(const step& s, const etcdserverpb::TxnResponse& said) const;
  void forget(const spi::owner_id& id);
  void note_unanswered(const spi::owner_id& id);

  office& office_;
  std::mutex mutex_;
  std::set<spi::owner_id> unanswered_;  // steps of which a try was
};

}  // namespace holdfast::etcd
