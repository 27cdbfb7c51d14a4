#include <holdfast/quorum_mutex.hpp>

#include "claims.hpp"
#include "composite_hold.hpp"
#include "grant_hold.hpp"
#include "group_wait.hpp"
#include "terms.hpp"

namespace holdfast {

namespace detail {

namespace {

/// Queues at every member and is done when a majority has granted.
///
/// The first member gets a head start: contenders that meet there are put in order before they split the votes. A
/// contender that holds some votes, but for longer than its patience no majority, gives them all back, waits a random
/// moment and begins again, each round more patient: so a tie ends with one of them.
class majority_wait final : public group_wait {
 public:
  majority_wait(const mutex_list& members, const acquire_options& options, std::stop_token stop,
                acquisition::completion done)
      : group_wait(members, options, std::move(stop), std::move(done)),
        need_(members.size() / 2 + 1),
        held_(members.size()) {}

 private:
  static constexpr std::chrono::nanoseconds head_start = 10ms;
  static constexpr std::chrono::nanoseconds first_patience = 40ms;
  static constexpr std::chrono::nanoseconds greatest_patience = 2s;

  void begin() override {
    ++round_;
    asked_rest_ = false;
    votes_ = failed_ = dead_ = 0;
    ask(0, round_, time_left());
    if (!waits()) return ask_rest();
    meanwhile(head_start, [this, round = round_] {
      if (!over() && round == round_) ask_rest();
    });
    meanwhile(jitter(patience_), [this, round = round_] { be_patient_no_longer(round); });
  }

  void ask_rest() {
    if (std::exchange(asked_rest_, true)) return;
    for (std::size_t i = 1; i < members_.size(); ++i) ask(i, round_, time_left());
  }

  void on_member(std::size_t index, std::uint64_t round, result<std::shared_ptr<hold>> outcome) override {
    if (over() || round != round_ || raising_) {
      if (outcome) (*outcome)->drop();
      return;
    }
    if (outcome) {
      held_[index] = std::move(*outcome);
      ++votes_;
    } else {
      ++failed_;
      if (outcome.error().code != errc::timed_out) {
        ++dead_;
        why_ = std::move(outcome.error());
      }
    }
    if (votes_ >= need_) return raise_tokens();
    if (members_.size() - failed_ < need_) {
      give_up();
      // With enough alive for a majority it is contention, whatever the dead ones say.
      return finish(members_.size() - dead_ < need_ ? why_ : failure{errc::timed_out, {}});
    }
    ask_rest();
  }

  void be_patient_no_longer(std::uint64_t round) {
    if (over() || round != round_ || raising_) return;
    // With no vote there is nothing that could keep others from a majority.
    if (votes_ == 0) return meanwhile(jitter(patience_), [this, round] { be_patient_no_longer(round); });
    give_up();
    // In the end longer than a silent member may stay silent: a round cut short before never learns that it is dead.
    patience_ = std::min(patience_ * 2, std::max(greatest_patience, first_engine().options().request_timeout * 2));
    ++round_;
    later(jitter(5ms), [this] {
      if (!over()) begin();
    });
  }

  /// The greatest token goes to every vote before the lease is handed out: any later majority shares a member with this
  /// one, and finds it there.
  void raise_tokens() {
    raising_ = true;
    cancel_asked();
    fencing_token most;
    for (const auto& h : held_)
      if (h) most = std::max(most, h->token());
    raised_ = 0;
    raises_out_ = 0;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      if (!held_[i]) continue;
      if (held_[i]->token() == most) {
        ++raised_;
        continue;
      }
      ++raises_out_;
      const auto& grant = static_cast<const grant_hold&>(*held_[i]).grant();
      members_[i].engine->raise(grant, most, [self = shared_from_this(), this](const result<bool>& done) {
        post([this, done] { on_raised(done); });
      });
    }
    if (raises_out_ == 0) settle();
  }

  void on_raised(const result<bool>& done) {
    if (done)
      ++raised_;
    else
      why_ = done.error();
    if (--raises_out_ == 0) settle();
  }

  void settle() {
    raising_ = false;
    if (over()) return give_up();
    if (raised_ < need_) {
      give_up();
      // Nothing else bounds one that does not wait.
      if (!waits()) return finish(why_.code == errc::lost ? failure{errc::timed_out, {}} : why_);
      ++round_;
      return later(jitter(5ms), [this] {
        if (!over()) begin();
      });
    }
    holds got;
    for (auto& h : held_)
      if (h) got.push_back(std::move(h));
    auto majority = std::make_shared<composite_hold>(members_.front().claim.name, std::move(got), need_);
    held_.assign(members_.size(), nullptr);
    if (majority->valid()) return finish(std::shared_ptr<hold>(std::move(majority)));
    // Writing the tokens took longer than the votes last.
    majority->drop();
    if (!waits()) return finish(failure{errc::timed_out, {}});
    begin();
  }

  void give_up() override {
    if (raising_) return;  // settle() comes back here
    cancel_asked();
    for (auto& h : held_)
      if (h) h->drop();
    held_.assign(members_.size(), nullptr);
  }

  const std::size_t need_;
  holds held_;
  std::uint64_t round_ = 0;
  std::size_t votes_ = 0;
  std::size_t failed_ = 0;
  std::size_t dead_ = 0;  // of those, other than busy
  std::size_t raised_ = 0;
  std::size_t raises_out_ = 0;
  bool asked_rest_ = false;
  bool raising_ = false;
  failure why_;
  std::chrono::nanoseconds patience_ = first_patience;
};

}  // namespace

std::function<void()> begin_majority(const mutex_list& members, const acquire_options& options, std::stop_token stop,
                                     acquisition::completion done) {
  return group_wait::start(std::make_shared<majority_wait>(members, options, std::move(stop), std::move(done)));
}

}  // namespace detail

quorum_mutex::quorum_mutex(std::vector<std::reference_wrapper<mutex>> members)
    : members_(detail::in_common_order(std::move(members), "quorum_mutex")) {
  for (const mutex& member : members_) {
    if (!member.store().engine()->supports().raise_token)
      throw error({errc::unsupported, "the tokens of " + member.store().url() + " cannot be raised"}, "quorum_mutex",
                  member.name());
  }
}
quorum_mutex::quorum_mutex(std::initializer_list<std::reference_wrapper<mutex>> members)
    : quorum_mutex(std::vector<std::reference_wrapper<mutex>>(members)) {}

void quorum_mutex::lock() { held_.put(acquire()); }
bool quorum_mutex::try_lock() { return try_lock_within(std::chrono::nanoseconds::zero()); }
bool quorum_mutex::try_lock_within(optional_duration wait) {
  auto got = try_acquire({.wait = wait});
  if (got) held_.put(std::move(*got));
  return got.has_value();
}
void quorum_mutex::unlock() noexcept {
  detail::unlock(held_, members_.front().get().store(), detail::combined_name(members_));
}

lease quorum_mutex::acquire(acquire_options options, std::stop_token stop) {
  return detail::acquire_combined(detail::begin_majority, members_, options, std::move(stop));
}
std::optional<lease> quorum_mutex::try_acquire(acquire_options options, std::stop_token stop) {
  return detail::try_acquire_combined(detail::begin_majority, members_, options, std::move(stop));
}
operation<lease> quorum_mutex::async_acquire(acquire_options options, std::stop_token stop) {
  return detail::async_acquire_combined(detail::begin_majority, members_, options, std::move(stop));
}

}  // namespace holdfast
