#pragma once

#include "lock_table.hpp"
#include "outbox.hpp"
#include "sessions.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::sqlite {

/// One name inside a write transaction: who has ended goes, who is first in line and fits comes in, and who must know
/// is written to the outbox. Call save() at the end.
///
/// The rules, which every change keeps: nobody fits while somebody stands in line before him; a writer comes in alone,
/// readers that stand together come in together, permits are given in order.
class settlement {
 public:
  settlement(lock_table& table, sessions& clients, std::string_view name, instant now, outbox& letters);

  lock_row row;

  /// Who asks: what he is granted on the way is not written to him but kept in own_grant.
  void for_claim(const spi::owner_id& id) noexcept { self_ = id; }
  std::optional<spi::granted> own_grant;

  /// Ends the grants whose time is over or whose process is gone. True if there were any.
  bool bury_holders();
  /// Removes the waiters directly ahead of `ticket` whose process is gone. 0: at the end of the line. Who is ahead
  /// then.
  std::optional<ticket_row> bury_waiters_before(std::int64_t ticket);
  void bury_all_waiters();

  enum class heads : std::uint8_t {
    checked,  ///< Those whose process is gone are passed over.
    trusted,  ///< Not worth a look: a dead one is found by who waits behind it.
  };
  void admit(heads how);

  bool fits(spi::access access, std::uint32_t permits) const noexcept;
  spi::granted grant(const ticket_row& to);
  std::optional<spi::granted> grant_of(const spi::owner_id& id);
  /// Takes one out of the line and tells the one behind, who has somebody else before him now.
  void withdraw(const ticket_row& who);
  /// Ends a grant. False: there is none of that id.
  bool end(const spi::owner_id& id);

  void save();  ///< If anything changed.

 private:
  void tell(const ticket_row& who, message::kind what, const spi::granted& g);

  lock_table& table_;
  sessions& clients_;
  const std::string_view name_;
  const instant now_;
  outbox& letters_;
  lock_row saved_;
  std::optional<spi::owner_id> self_;
};

}  // namespace holdfast::sqlite
