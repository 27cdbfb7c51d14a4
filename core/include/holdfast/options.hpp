#pragma once

#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace holdfast {

/// A duration or nothing. Takes any std::chrono duration and saturates, so that `hours::max()` means "very long"
/// instead of overflowing. Trivially copyable (g++ 12 miscompiles `co_await f({...})` with aggregates that are not).
class optional_duration {
 public:
  constexpr optional_duration() noexcept = default;
  constexpr optional_duration(std::nullopt_t) noexcept {}
  template <class Rep, class Period>
  constexpr optional_duration(std::chrono::duration<Rep, Period> value) noexcept
      : value_(saturate(value)), set_(true) {}

  constexpr bool has_value() const noexcept { return set_; }
  constexpr std::chrono::nanoseconds value() const noexcept { return value_; }
  constexpr std::chrono::nanoseconds value_or(std::chrono::nanoseconds other) const noexcept {
    return set_ ? value_ : other;
  }

 private:
  template <class Rep, class Period>
  static constexpr std::chrono::nanoseconds saturate(std::chrono::duration<Rep, Period> value) noexcept {
    using seconds = std::chrono::duration<double>;
    constexpr double limit = 9.2e9;  // seconds; nanoseconds::max() is 9.22e9
    const double rough = std::chrono::duration_cast<seconds>(value).count();
    if (rough >= limit) return std::chrono::nanoseconds::max();
    if (rough <= -limit) return std::chrono::nanoseconds::min();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(value);
  }

  std::chrono::nanoseconds value_{0};
  bool set_ = false;
};

/// Who comes next when a lock is released.
enum class ordering {
  any,   ///< Whatever is fastest on this store. Bounded: nobody starves.
  fifo,  ///< In the order of asking, over all processes. Costs the local handover. Not on `file:` and memcached.
};

/// How one acquisition waits and how long it holds.
struct acquire_options {
  /// How long to wait. Unset: acquire waits for ever, try_acquire not at all. Negative: errc::invalid_argument.
  optional_duration wait = {};
  /// Set: the lease lasts this long and is not renewed (renew() starts it afresh). Unset: client_options::ttl, renewed
  /// in the background until released. 10 ms to 30 days, else errc::invalid_argument.
  optional_duration ttl = {};
};
static_assert(std::is_trivially_copyable_v<acquire_options>);

/// What holds for every acquisition of one lock object.
struct lock_options {
  ordering order = ordering::any;  ///< ordering::fifo is errc::unsupported where the store has no queue.
};

enum class log_level { debug, info, warning, error };

/// What holds for everything made from one client.
struct client_options {
  /// How long a renewed lease outlives its last renewal; renewed every third of it. Short: a dead holder's lock comes
  /// free sooner; long: a slow store loses fewer leases. 10 ms to 30 days.
  std::chrono::nanoseconds ttl = std::chrono::seconds(30);
  /// Shown by inspect and `holdfast ls` beside host and pid. Default: the program's name.
  std::string name = {};
  /// How long connect() may take.
  std::chrono::nanoseconds connect_timeout = std::chrono::seconds(5);
  /// How long one question to the store may stay unanswered, retries included, before errc::unavailable.
  std::chrono::nanoseconds request_timeout = std::chrono::seconds(5);
  /// Gets one line per noteworthy happening. Runs on library threads: quick, thread-safe, must not call the client.
  /// Not called any more when the client and the locks made from it are gone.
  std::function<void(log_level, std::string_view)> log = {};
};

}  // namespace holdfast
