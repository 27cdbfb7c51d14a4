#pragma once

#include "connection.hpp"
#include "peers.hpp"
#include "sidecar.hpp"

#include <holdfast/backend.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sqlite {

/// Nanoseconds on the boot-time clock, as stored.
using instant = std::int64_t;

inline instant to_instant(spi::time_point t) noexcept { return t.time_since_epoch().count(); }
inline spi::time_point to_time(instant t) noexcept { return spi::time_point(std::chrono::nanoseconds(t)); }
/// `now + ttl` that stops at the end of time.
instant expiry(instant now, std::chrono::nanoseconds ttl) noexcept;

/// A row of `lock`.
struct lock_row {
  spi::kind kind = spi::kind::mutex;
  std::int64_t fence = 0;
  std::optional<spi::owner_id> owner;
  std::int64_t token = 0;
  std::uint32_t tokens = 0;
  instant expires = 0;
  instant since = 0;
  session_id session = 0;
  std::int64_t capacity = 1;
  std::int64_t shares = 0;
  bool awaited = false;  ///< False: nobody waits. True: somebody may.
  std::optional<std::int64_t> value;

  bool in_use() const noexcept { return owner || shares != 0 || awaited || value; }
  friend bool operator==(const lock_row&, const lock_row&) = default;
};

/// A row of `hold`.
struct hold_row {
  spi::owner_id owner;
  std::int64_t token = 0;
  std::uint32_t tokens = 0;
  std::uint32_t permits = 1;
  instant expires = 0;
  instant since = 0;
  session_id session = 0;
};

/// A row of `queue`.
struct ticket_row {
  std::int64_t ticket = 0;
  spi::owner_id owner;
  spi::access access = spi::access::exclusive;
  std::uint32_t permits = 1;
  std::uint32_t tokens = 1;
  std::int64_t ttl = 0;
  instant since = 0;
  session_id session = 0;
  mailbox_id mailbox = 0;

  /// A thread blocks for it and reads its own mailbox; a client's is called as the session is.
  bool waits_itself() const noexcept { return mailbox != 0 && mailbox != session; }
};

/// The tables of locks, row by row. No decisions here. Members throw sql_error.
///
/// Thread safety: under the connection's mutex.
class lock_table {
 public:
  explicit lock_table(connection& db);

  std::optional<lock_row> find(std::string_view name);
  /// The row as it would be made: a name nobody used before starts above every token of names that were deleted.
  lock_row find_or_new(std::string_view name);
  void save(std::string_view name, const lock_row& row);

  /// The whole of an uncontended exclusive acquire: takes the row if it is free and nobody waits. The first token.
  std::optional<std::int64_t> take_free(const spi::claim& c, std::uint32_t tokens, instant now, instant expires,
                                        session_id session);
  /// The whole of an uncontended exclusive release: clears the row if it is ours and nobody waits.
  bool leave_alone(std::string_view name, const spi::owner_id& id);
  /// As leave_alone, where nobody waits after all.
  bool leave_free(std::string_view name, const spi::owner_id& id);
  struct passed {
    std::int64_t token = 0;  ///< The first of the new holder.
    instant held_since = 0;  ///< By the one before.
  };
  /// Makes `to` the exclusive holder in place of `from`; nothing if `from` does not hold it.
  std::optional<passed> pass_on(std::string_view name, const spi::owner_id& from, const ticket_row& to, instant now,
                                instant expires);
  /// Extends an exclusive grant that is still there.
  bool extend(std::string_view name, const spi::owner_id& id, instant now, instant expires);
  bool extend_hold(std::string_view name, const spi::owner_id& id, instant now, instant expires);

  std::optional<hold_row> hold(std::string_view name, const spi::owner_id& id);
  std::vector<hold_row> holds(std::string_view name);
  void add_hold(std::string_view name, const hold_row& row);
  void drop_hold(std::string_view name, const spi::owner_id& id);
  void drop_holds(std::string_view name);

  std::optional<ticket_row> first(std::string_view name);
  std::vector<ticket_row> first_two(std::string_view name);
  std::optional<ticket_row> last(std::string_view name);
  std::optional<ticket_row> ticket(std::string_view name, std::int64_t number);
  std::optional<ticket_row> before(std::string_view name, std::int64_t number);
  std::optional<ticket_row> after(std::string_view name, std::int64_t number);
  std::vector<ticket_row> tickets(std::string_view name);
  void add_ticket(std::string_view name, const ticket_row& row);
  /// The number of a new ticket behind `last`.
  static std::int64_t next_ticket(const std::optional<ticket_row>& last, instant now) noexcept;
  struct joined {
    std::int64_t ticket = 0;
    ticket_row ahead;  ///< Its session and ttl.
  };
  /// Adds `wish` at the end of a line that stands before a holder, both of this kind; nothing if there is no such line.
  std::optional<joined> join_line(std::string_view name, const ticket_row& wish, spi::kind kind, std::uint32_t capacity,
                                  instant now);
  void move_ticket(std::string_view name, std::int64_t number, mailbox_id to);
  void drop_ticket(std::string_view name, std::int64_t number);
  void drop_tickets(std::string_view name);

  /// Enough names were made that it is time to forget some. Any thread may ask.
  bool should_forget() const noexcept { return made_.load() >= names_between_looks; }
  /// Deletes idle names nobody took for an hour, a few at a time, and lifts the floor above their tokens.
  void forget_idle(instant now);

  /// Names starting with `prefix` that somebody holds or waits for.
  std::vector<std::string> used_names(std::string_view prefix);

 private:
  connection& db_;
  statement find_, floor_, save_, take_free_, leave_alone_, leave_free_, pass_on_, extend_, extend_hold_;
  statement hold_, holds_, add_hold_, drop_hold_, drop_holds_;
  statement first_, first_two_, last_, ticket_, before_, after_, tickets_, add_ticket_, join_line_, move_ticket_,
      drop_ticket_, drop_tickets_;
  statement used_names_, idle_, forget_, raise_floor_;

  static constexpr int names_between_looks = 1024;
  std::atomic<int> made_{0};
  std::string looked_up_to_;
};

}  // namespace holdfast::sqlite
