#include "redlock_node.hpp"

#include "redis_error.hpp"

#include <charconv>
#include <utility>

namespace holdfast::redis {

using namespace std::chrono_literals;

/// The engine, but for losses: what one server takes away is not yet lost.
class redlock_node::runtime final : public spi::runtime {
 public:
  runtime(spi::runtime& engine, on_lost lost) : engine_(engine), lost_(std::move(lost)) {}

  spi::time_point now() const noexcept override { return engine_.now(); }
  const spi::identity& who() const noexcept override { return engine_.who(); }
  const client_options& options() const noexcept override { return engine_.options(); }
  void log(log_level level, std::string_view line) noexcept override { engine_.log(level, line); }
  void post(detail::unique_function<void()> task) override { engine_.post(std::move(task)); }
  timer at(spi::time_point when, detail::unique_function<void()> task) override {
    return engine_.at(when, std::move(task));
  }
  void cancel(timer t) noexcept override { engine_.cancel(t); }
  void on_readable(int fd, std::function<void()> ready) override { engine_.on_readable(fd, std::move(ready)); }
  void forget(int fd) noexcept override { engine_.forget(fd); }
  void lost(const spi::owner_id& id, loss cause) noexcept override { lost_(id, cause); }

 private:
  spi::runtime& engine_;
  const on_lost lost_;
};

namespace {

constexpr int most_under_way = 1000;

/// The value of a line `key:value` of INFO.
std::string_view line_of(std::string_view info, std::string_view key) {
  for (auto at = info.find(key); at != info.npos; at = info.find(key, at + 1)) {
    const bool whole = (at == 0 || info[at - 1] == '\n') && info.substr(at + key.size()).starts_with(':');
    if (!whole) continue;
    const auto value = info.substr(at + key.size() + 1);
    return value.substr(0, value.find_first_of("\r\n"));
  }
  return {};
}

}  // namespace

redlock_node::redlock_node(settings where, spi::runtime& engine, on_lost lost)
    : where_(std::move(where)),
      engine_(engine),
      filtered_(std::make_unique<runtime>(engine, std::move(lost))),
      store_(where_, *filtered_, [this](auto info, auto fsync) { introduced(info, fsync); }) {}

result<void> redlock_node::open() {
  auto outcome = store_.open_link();
  silent_ = !outcome;
  return outcome;
}

void redlock_node::introduced(std::string_view info, std::string_view fsync) {
  std::int64_t seconds = 0;
  const auto up = line_of(info, "uptime_in_seconds");
  std::from_chars(up.data(), up.data() + up.size(), seconds);
  const bool keeps_all = line_of(info, "aof_enabled") == "1" && fsync == "always";
  const std::lock_guard lock(mutex_);
  up_since_.reset();
  tells_uptime_ = !up.empty();
  // It is the difference of two whole seconds, and may be one too many.
  if (!keeps_all && where_.restarted == restarted_nodes::wait)
    up_since_ = engine_.now() - std::chrono::seconds(std::max<std::int64_t>(0, seconds - 1));
}

spi::time_point redlock_node::votes_from(std::chrono::nanoseconds ttl) const {
  const std::lock_guard lock(mutex_);
  if (!up_since_) return {};
  return *up_since_ + std::max(ttl, engine_.options().ttl);
}

std::optional<failure> redlock_node::refusal(std::chrono::nanoseconds ttl) const {
  if (const auto from = votes_from(ttl), now = engine_.now(); from > now) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(from - now).count();
    const char* const why = tells_uptime_ ? "it was started so lately that it may have forgotten locks"
                                          : "it does not tell how long it has been up (the user needs +info)";
    return broken(where_.shown(), std::string(why) + "; it votes in " + std::to_string(left) + " s");
  }
  if ((silent_ && under_way_ > 0) || under_way_ > most_under_way)
    return broken(where_.shown(), "the server does not answer");
  return std::nullopt;
}

void redlock_node::answered(const std::error_code& outcome) noexcept {
  --under_way_;
  silent_ = outcome == errc::unavailable;
}

}  // namespace holdfast::redis
