#pragma once

#include <holdfast/export.hpp>
#include <holdfast/lease_clock.hpp>
#include <holdfast/result.hpp>
#include <holdfast/token.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

namespace holdfast {

/// Why a lease ended before its owner released it.
enum class loss : std::uint16_t {
  none,           ///< It has not.
  expired,        ///< Its ttl passed without renewal: the process was paused, or a fixed ttl ran out.
  taken,          ///< Somebody evicted it, or the store no longer knows it.
  session_ended,  ///< The store ended the session it lived in.
  unreachable,    ///< The store could not be reached for so long that the ttl passed.
};
HOLDFAST_EXPORT const char* to_string(loss cause) noexcept;

namespace detail {
class hold;
}

/// One hold on a lock: its token, its validity, its end.
///
/// Move-only; the destructor releases. A moved-from lease is not valid and every call on it fails with errc::not_owner.
///
/// Thread safety: const members are safe together; the others want one thread at a time.
/// Blocks on: the store (renew, release, downgrade, try_upgrade, the destructor), at most
///            client_options::request_timeout. The destructor never throws: what cannot be released is left to its ttl
///            and logged.
/// Lost when: the ttl passes without renewal, the lock is evicted, or the store ends the session. lost() is stopped
///            before the store can admit another owner; after a pause of this process, at the first look.
class [[nodiscard]] HOLDFAST_EXPORT lease {
 public:
  explicit lease(std::shared_ptr<detail::hold> hold) noexcept;
  lease(lease&&) noexcept;
  lease& operator=(lease&&) noexcept;
  ~lease();

  const std::string& name() const noexcept;  ///< The lock's name.
  std::string id() const;  ///< The owner shown by inspect. Holds handed over inside one process share it; their
                           ///< tokens tell them apart.

  fencing_token token() const noexcept;  ///< Greater than that of every earlier grant of this name.

  bool valid() const noexcept;  ///< Held, and nobody else can be: counted on this machine's clock, without asking.
  /// When valid() ends unless renewed before. On the steady clock of this moment: do not keep it over a suspend.
  std::chrono::steady_clock::time_point valid_until() const noexcept;
  std::chrono::nanoseconds remaining() const noexcept;  ///< valid_until() from now; zero once over.

  /// Stopped when the lease is lost, never by release. Looking also checks the clock: after a pause beyond the ttl the
  /// token returned is stopped already. Runs on: stop_callbacks run on the client's callback threads, or on the thread
  /// that finds the loss by looking.
  std::stop_token lost() const noexcept;
  loss loss_cause() const noexcept;

  result<void> renew();    ///< Starts the ttl afresh now. errc::lost or not_owner if there is nothing to renew.
  result<void> release();  ///< Ends the hold. errc::lost if it was lost before; errc::not_owner the second time.

  /// Exclusive to shared without a gap in which a writer could come in. errc::unsupported but on a shared_mutex.
  result<void> downgrade();
  /// Shared to exclusive if this is the only reader and nobody is ahead; false keeps the shared hold.
  /// Throws holdfast::error: lost, unavailable, unsupported.
  [[nodiscard]] bool try_upgrade();

 private:
  std::shared_ptr<detail::hold> hold_;
};

}  // namespace holdfast
