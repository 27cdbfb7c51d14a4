#pragma once

#include "lock_table.hpp"
#include "outbox.hpp"
#include "sessions.hpp"
#include "settlement.hpp"

#include <holdfast/backend.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::sqlite {

/// Where in line a claim stands, as its client knows it.
struct place {
  std::optional<std::int64_t> ticket;
  /// Where it wants to be told; 0: nowhere. Asked only when it has to wait: most claims never need one.
  std::function<mailbox_id()> mailbox;
};

/// What entering came to.
struct entry_outcome {
  std::optional<spi::granted> grant;
  std::int64_t ticket = 0;                   ///< Without a grant: its place in line; 0: none.
  spi::time_point look_again;                ///< Without a grant.
  std::vector<std::shared_ptr<peer>> ahead;  ///< Whose death makes it worth to look again.
};

/// Mutexes, shared mutexes and permits: what each operation does to the tables. All members throw sql_error.
///
/// Thread safety: under the connection's mutex, in a transaction.
class lock_desk {
 public:
  lock_desk(lock_table& table, sessions& clients) : table_(table), clients_(clients) {}

  result<entry_outcome> enter(const spi::entry_request& request, const place& where, instant now, outbox& letters);
  /// What enter would say, if it would change nothing; else nothing. Wants a read transaction only.
  std::optional<entry_outcome> glance(const spi::entry_request& request, const place& where, instant now);
  /// enter for one who has to wait behind others, with no more looks than needed; nothing if there is no such line.
  std::optional<entry_outcome> join(const spi::entry_request& request, mailbox_id mailbox, instant now);
  bool leave(const spi::claim& ours, std::optional<std::int64_t> ticket, instant now, outbox& letters);
  spi::renewal_outcome renew(const spi::claim& held, instant now);
  result<bool> convert(const spi::claim& held, spi::access to, instant now, outbox& letters);
  result<bool> raise(const spi::claim& held, fencing_token floor, instant now);
  bool evict(const std::string& name, instant now, outbox& letters);
  /// Clears away what has ended and who is gone.
  void tidy(const std::string& name, instant now, outbox& letters);
  /// Is anything there to be cleared away? Wants a read transaction only.
  bool tidy_enough(const std::string& name, instant now);

 private:
  std::optional<failure> clash(const lock_row& row, const spi::claim& wanted) const;
  /// `mine` without a ticket: one who does not queue.
  entry_outcome wait_behind(std::string_view name, const lock_row& row, const ticket_row& mine,
                            const std::optional<ticket_row>& ahead, instant now);
  bool hand_over(const spi::claim& ours, instant now, outbox& letters);
  bool holders_stay(std::string_view name, const lock_row& row, instant now);

  lock_table& table_;
  sessions& clients_;
};

/// The refusal of a name that is in other use.
failure other_kind(const std::string& name, spi::kind wanted, spi::kind present);

}  // namespace holdfast::sqlite
