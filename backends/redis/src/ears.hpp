#pragma once

#include "line.hpp"
#include "reply.hpp"
#include "settings.hpp"

#include <holdfast/backend.hpp>

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis {

/// What one subscribes to.
struct subject {
  enum class kind : std::uint8_t { channel, pattern };
  kind what = kind::channel;
  std::string text;
  friend auto operator<=>(const subject&, const subject&) = default;
};

/// The connection that listens: one subscription per channel, however many are interested. Made by the first interest,
/// and again, with every subscription, whenever it breaks.
///
/// Thread safety: safe. Everything is called with nothing locked, on the reactor thread.
class ears : public std::enable_shared_from_this<ears> {
 public:
  struct callbacks {
    /// `channel` is where it was published, whichever subscription it came by.
    std::function<void(std::string_view channel, std::string_view payload)> message;
    /// Something may have been missed: the connection is back, or the look of the first subscription is due.
    std::function<void()> gap;
  };
  using ready = detail::unique_function<void(result<void>)>;

  ears(settings where, spi::runtime& engine, callbacks tell);
  ears(const ears&) = delete;
  ears& operator=(const ears&) = delete;
  ~ears();

  /// Subscribes; `done` once the server has confirmed it, at once if it had. errc::unavailable: not within
  /// request_timeout; it is still tried. Any other: the server refused it, and it is not tried again.
  void listen(const subject& what, ready done);
  bool hears(const subject& what) const;
  void ignore(const subject& what);

  /// Hangs up, unless the connection goes to `server` (host:port), and subscribes anew. On the reactor thread only.
  void leave_for(const std::string& server);

 private:
  struct interest {
    bool confirmed = false;
    bool resumed = false;  // there was a connection before, and this one has not confirmed it yet
    std::vector<std::pair<spi::time_point, ready>> waiting;
  };
  using guard = std::unique_lock<std::mutex>;

  void connect();  // with mutex_ held
  void dial_now();
  void say(std::string_view verb, const subject& what);  // with mutex_ held
  void transmit(const std::string& bytes);               // with mutex_ held
  void read_ready(const std::shared_ptr<line>& from);
  void handle(const reply& r, guard& lock);
  void confirm(const subject& what, guard& lock);
  bool resumed();  // with mutex_ held; true once, when all that was heard before is heard again
  void refuse(const subject& what, const failure& why, guard& lock);
  void hang_up(const std::string& why, guard& lock);
  void watch_over();  // with mutex_ held
  void on_beat(spi::time_point due);

  const settings where_;
  spi::runtime& engine_;
  const callbacks tell_;

  mutable std::mutex mutex_;
  std::shared_ptr<line> line_;  // null: no connection
  std::unique_ptr<reply_reader> reader_;
  std::map<subject, interest> interests_;
  std::deque<std::optional<subject>> asked_;  // what was sent and not yet answered; null: no subscription
  bool dialling_ = false;
  std::string moved_to_;  // said while dialling
  bool again_ = false;    // there was a connection before
  std::optional<spi::time_point> next_beat_;
  spi::runtime::timer beat_timer_ = 0;
  std::optional<spi::time_point> pinged_;  // and not yet answered
  unsigned failures_ = 0;
};

}  // namespace holdfast::redis
