#pragma once

#include "slots.hpp"

#include <holdfast/backend.hpp>

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::redis {

/// What one subscribes to.
struct subject {
  enum class kind : std::uint8_t { channel, pattern, shard };
  kind what = kind::channel;
  std::string text;
  std::optional<slot> at{};  ///< Of a cluster: heard at the master of this slot; none: at any node.
  friend auto operator<=>(const subject&, const subject&) = default;
};

/// Hears what is published, at one server or at those of a cluster.
///
/// Thread safety: safe. Everything is called with nothing locked.
class hearing {
 public:
  struct callbacks {
    /// `channel` is where it was published, whichever subscription it came by.
    std::function<void(std::string_view channel, std::string_view payload)> message;
    /// Something may have been missed: the connection is back, or the look of the first subscription is due.
    std::function<void()> gap;
    /// The connection broke or could not be made; it is tried again all the same.
    std::function<void()> trouble{};
    /// The server does not serve the slot of this shard channel (any more): it is not heard there.
    std::function<void(const subject&)> moved{};
  };
  using ready = detail::unique_function<void(result<void>)>;

  virtual ~hearing() = default;

  /// Subscribes; `done` once the server has confirmed it, at once if it had. errc::unavailable: not within
  /// request_timeout; it is still tried. Any other: the server refused it, and it is not tried again.
  virtual void listen(const subject& what, ready done) = 0;
  virtual bool hears(const subject& what) const = 0;
  virtual void ignore(const subject& what) = 0;
  /// As spi::backend.
  virtual bool lend(spi::loan& /*mine*/) { return false; }
  virtual void end(spi::loan& mine) noexcept {
    mine.over = true;
    mine.bell.release();
  }

  /// The master that sentinels name is `server` now: nothing is heard at another any more.
  virtual void leave_for(const std::string& /*server*/) {}
};

}  // namespace holdfast::redis
