#include <holdfast/multi_mutex.hpp>

#include "claims.hpp"
#include "composite_hold.hpp"
#include "group_wait.hpp"
#include "terms.hpp"

namespace holdfast {

namespace detail {

namespace {

// How long to wait for one lock while holding others. The common order makes a circle impossible, unless two processes
// see one store under two identities, or somebody takes members singly in another order: then this breaks it.
constexpr std::chrono::nanoseconds patience = 2s;

/// Takes the members one after the other, in the common order.
class all_wait final : public group_wait {
 public:
  using group_wait::group_wait;

 private:
  void begin() override { ask_next(); }

  void ask_next() {
    auto wait = time_left();
    if (!held_.empty() && waits()) {
      const auto most = jitter(patience);
      if (!wait.has_value() || wait.value() > most) wait = most;
    }
    ask(held_.size(), round_, wait);
  }

  void on_member(std::size_t, std::uint64_t round, result<std::shared_ptr<hold>> outcome) override {
    if (over() || round != round_) {
      if (outcome) (*outcome)->drop();
      return;
    }
    if (outcome) {
      held_.push_back(std::move(*outcome));
      if (held_.size() < members_.size()) return ask_next();
      return take_all();
    }
    const bool had_some = !held_.empty();
    drop(held_);
    const bool in_time = !time_left().has_value() || time_left().value() > 0ns;
    if (outcome.error().code == errc::timed_out && waits() && had_some && in_time) {
      ++round_;
      return later(jitter(5ms), [this] {
        if (!over()) ask_next();
      });
    }
    finish(std::move(outcome.error()));
  }

  void take_all() {
    const auto need = held_.size();
    auto all = std::make_shared<composite_hold>(name_, std::exchange(held_, {}), need);
    if (all->valid()) return finish(std::shared_ptr<hold>(std::move(all)));
    // The first ones ran out while the last were waited for.
    all->drop();
    if (!waits()) return finish(failure{errc::timed_out, {}});
    ++round_;
    ask_next();
  }

  void give_up() override {
    cancel_asked();
    drop(held_);
  }

  holds held_;
  std::uint64_t round_ = 0;
};

}  // namespace

std::function<void()> begin_all(const mutex_list& members, const acquire_options& options, std::stop_token stop,
                                acquisition::completion done) {
  return group_wait::start(std::make_shared<all_wait>(members, options, std::move(stop), std::move(done)));
}

}  // namespace detail

multi_mutex::multi_mutex(std::vector<std::reference_wrapper<mutex>> members)
    : members_(detail::in_common_order(std::move(members), "multi_mutex")) {}
multi_mutex::multi_mutex(std::initializer_list<std::reference_wrapper<mutex>> members)
    : multi_mutex(std::vector<std::reference_wrapper<mutex>>(members)) {}

void multi_mutex::lock() { held_.put(acquire()); }
bool multi_mutex::try_lock() { return try_lock_within(std::chrono::nanoseconds::zero()); }
bool multi_mutex::try_lock_within(optional_duration wait) {
  auto got = try_acquire({.wait = wait});
  if (got) held_.put(std::move(*got));
  return got.has_value();
}
void multi_mutex::unlock() noexcept {
  detail::unlock(held_, members_.front().get().store(), detail::combined_name(members_));
}

lease multi_mutex::acquire(acquire_options options, std::stop_token stop) {
  return detail::acquire_combined(detail::begin_all, members_, options, std::move(stop));
}
std::optional<lease> multi_mutex::try_acquire(acquire_options options, std::stop_token stop) {
  return detail::try_acquire_combined(detail::begin_all, members_, options, std::move(stop));
}
operation<lease> multi_mutex::async_acquire(acquire_options options, std::stop_token stop) {
  return detail::async_acquire_combined(detail::begin_all, members_, options, std::move(stop));
}

}  // namespace holdfast
