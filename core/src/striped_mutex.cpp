#include <holdfast/striped_mutex.hpp>

#include "blocking.hpp"
#include "claims.hpp"
#include "group_wait.hpp"
#include "terms.hpp"

#include <random>

namespace holdfast {

using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t most_stripes = 65'536;

/// FNV-1a, 64 bits: the same on every machine, which std::hash is not.
std::uint64_t stable_hash(std::string_view key) {
  std::uint64_t hash = 14'695'981'039'346'656'037U;
  for (const unsigned char byte : key) hash = (hash ^ byte) * 1'099'511'628'211U;
  return hash;
}

/// Waits for all members and keeps the first that comes.
class any_wait final : public detail::group_wait {
 public:
  using group_wait::group_wait;

 private:
  void begin() override {
    for (std::size_t i = 0; i < members_.size() && !over(); ++i) ask(i, 0, time_left());
  }

  void on_member(std::size_t, std::uint64_t, result<std::shared_ptr<detail::hold>> outcome) override {
    if (outcome && over()) return (*outcome)->drop();
    if (outcome) {
      finish(std::move(*outcome));
      return cancel_asked();
    }
    if (++failed_ == members_.size()) finish(std::move(outcome.error()));
  }

  void give_up() override { cancel_asked(); }
  std::size_t spare() const noexcept override { return members_.size() - 1; }

  std::size_t failed_ = 0;
};

std::function<void()> begin_any(const detail::mutex_list& members, const acquire_options& options, std::stop_token stop,
                                detail::acquisition::completion done) {
  return detail::group_wait::start(std::make_shared<any_wait>(members, options, std::move(stop), std::move(done)));
}

}  // namespace

striped_mutex::striped_mutex(client c, std::string name, std::uint32_t n, lock_options options) {
  detail::require(c, name, c.engine()->supports().mutex, "striped_mutex");
  if (n == 0 || n > most_stripes)
    throw error({errc::invalid_argument, std::to_string(n) + " stripes; 1 to 65536 are allowed"}, "striped_mutex",
                name);
  stripes_.reserve(n);
  for (std::uint32_t i = 0; i < n; ++i)
    stripes_.push_back(std::make_unique<mutex>(c, name + "#" + std::to_string(i), options));
}

mutex& striped_mutex::for_key(std::string_view key) { return *stripes_[stable_hash(key) % stripes_.size()]; }

lease striped_mutex::acquire_any(acquire_options options, std::stop_token stop) {
  thread_local std::minstd_rand random{std::random_device{}()};
  detail::mutex_list members;
  const std::size_t first = random() % stripes_.size();
  for (std::size_t i = 0; i < stripes_.size(); ++i) members.emplace_back(*stripes_[(first + i) % stripes_.size()]);
  if (auto good = detail::check_combined(options, stop); !good)
    throw error(good.error(), "acquire_any", stripes_.front()->name());
  const auto& clock = *stripes_.front()->store().engine();
  const auto began = clock.now();
  // Usually one is free: found by trying, without queueing everywhere.
  for (mutex& member : members) {
    if (auto got = member.try_acquire({.wait = std::chrono::nanoseconds::zero(), .ttl = options.ttl}, stop))
      return std::move(*got);
    if (options.wait.has_value() && options.wait.value() > 0ns && clock.now() - began >= options.wait.value()) break;
  }
  if (options.wait.has_value()) {
    options.wait = options.wait.value() - (clock.now() - began);
    if (options.wait.value() <= 0ns) throw error({errc::timed_out, {}}, "acquire_any", stripes_.front()->name());
  }
  return detail::acquire_combined(begin_any, members, options, std::move(stop));
}

}  // namespace holdfast
