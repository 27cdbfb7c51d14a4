#pragma once

#include "lock_desk.hpp"

#include <deque>
#include <map>

namespace holdfast::sqlite {

/// The numbers behind semaphores and latches: what each operation does to the tables. Members throw sql_error.
///
/// Permits of a semaphore have no owner, so a waiter is never handed them: it is told to look, and takes them itself
/// when it is first in line. So nothing is lost with a message that is lost or a waiter that dies.
///
/// Thread safety: under the connection's mutex, in a transaction.
class count_desk {
 public:
  count_desk(lock_table& table, sessions& clients) : table_(table), clients_(clients) {}

  result<spi::count_reply> apply(const spi::count_request& request, instant now, outbox& letters);
  result<entry_outcome> enter(const spi::entry_request& request, const place& where, instant now, outbox& letters);
  bool leave(const spi::claim& ours, std::optional<std::int64_t> ticket, instant now, outbox& letters);

  /// The transaction of the latest call was committed: its answer is remembered. Else it is forgotten.
  void committed();
  void rolled_back() noexcept { fresh_.reset(); }

 private:
  /// What this client did not long ago, so that a request that is sent again is not applied again. SQLite always
  /// answers, and what it refuses it has not done: nobody but a careless caller sends twice, so memory will do.
  struct step {
    spi::owner_id id;
    std::int64_t taken = 0;
    spi::count_reply reply;
  };

  result<spi::count_reply> change(lock_row& row, const spi::count_request& request) const;
  bool passes(const lock_row& row, std::uint32_t permits) const noexcept;
  enum class line : std::uint8_t { joins, passes_by };
  bool may_pass(std::string_view name, const lock_row& row, const std::optional<ticket_row>& mine, line how);
  void wake(std::string_view name, lock_row& row, const spi::owner_id& self, outbox& letters);
  const step* recall(const spi::owner_id& id) const;
  entry_outcome wait_in_line(std::string_view name, const ticket_row& mine, instant now);

  lock_table& table_;
  sessions& clients_;
  std::optional<step> fresh_;
  std::map<spi::owner_id, step> recent_;
  std::deque<spi::owner_id> order_;
};

}  // namespace holdfast::sqlite
