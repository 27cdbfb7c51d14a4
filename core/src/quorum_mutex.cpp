#include <holdfast/quorum_mutex.hpp>

#include "claims.hpp"
#include "composite_hold.hpp"
#include "grant_hold.hpp"
#include "group_wait.hpp"
#include "terms.hpp"

#include <algorithm>

namespace holdfast {

namespace detail {

namespace {

/// Queues at every member and is done when a majority has granted.
///
/// The first member gets a head start: contenders that meet there are put in order before they split the votes. A
/// contender that holds some votes, but for longer than its patience no majority, gives them all back, waits a random
/// moment and queues again, each round more patient: so a tie ends with one of them. Members that never answered stay
/// asked meanwhile, or a dead one would never be known as such.
///
/// The other members stay asked when a majority is there, and their votes join the lease: as many members as have votes
/// to spare may die without its end.
class majority_wait final : public group_wait {
 public:
  majority_wait(const mutex_list& members, const acquire_options& options, std::stop_token stop,
                acquisition::completion done)
      : group_wait(members, options, std::move(stop), std::move(done)),
        need_(members.size() / 2 + 1),
        seats_(members.size()) {}

 private:
  static constexpr std::chrono::nanoseconds head_start = 10ms;
  static constexpr std::chrono::nanoseconds first_patience = 40ms;
  static constexpr std::chrono::nanoseconds greatest_patience = 2s;

  struct seat {
    std::uint64_t attempt = 0;
    bool asked = false;
    std::shared_ptr<hold> vote;
    std::optional<failure> no;  ///< Its last answer, if that was none; being asked again does not undo it.

    bool dead() const { return no && no->code != errc::timed_out; }
    bool busy() const { return no && no->code == errc::timed_out && !asked; }
  };

  std::size_t spare() const noexcept override { return members_.size() - need_; }
  bool done() const noexcept { return over() || ended_; }

  void begin() override {
    ++round_;
    ask_once(0);
    if (!waits()) return ask_rest();
    meanwhile(head_start, [this, round = round_] {
      if (!done() && round == round_) ask_rest();
    });
    meanwhile(jitter(patience_), [this, round = round_] { be_patient_no_longer(round); });
  }

  void ask_rest() {
    for (std::size_t i = 1; i < seats_.size(); ++i) ask_once(i);
  }

  void ask_once(std::size_t index) {
    auto& at = seats_[index];
    if (at.asked || at.vote || at.attempt == round_) return;
    at.asked = true;
    at.attempt = round_;
    ask(index, round_, time_left());
  }

  void on_member(std::size_t index, std::uint64_t attempt, result<std::shared_ptr<hold>> outcome) override {
    auto& at = seats_[index];
    if (attempt != at.attempt) {
      if (outcome) give_back(*outcome);
      return;
    }
    at.asked = false;
    if (done() && !raising_) {
      if (outcome) join_or_give_back(std::move(*outcome));
      return;
    }
    if (outcome) {
      at.vote = std::move(*outcome);
      at.no.reset();
    } else {
      at.no = std::move(outcome.error());
    }
    if (!raising_) decide();
  }

  void join_or_give_back(std::shared_ptr<hold> late) {
    const auto won = won_.lock();
    if (!won || !won->join(late)) give_back(late);
  }

  void decide() {
    if (count([](const seat& s) { return s.vote != nullptr; }) >= need_) return raise_tokens();
    const auto dead = count([](const seat& s) { return s.dead(); });
    const auto busy = count([](const seat& s) { return s.busy(); });
    if (dead + busy <= spare()) return ask_rest();
    // With enough alive for a majority it is contention, whatever the dead ones say.
    auto why = failure{errc::timed_out, {}};
    if (dead > spare()) why = *std::find_if(seats_.begin(), seats_.end(), [](const seat& s) { return s.dead(); })->no;
    end_without(std::move(why));
  }

  /// Answers when the votes are back: the caller's next try must not find them in the way.
  void end_without(failure why) {
    ended_ = true;
    why_ = std::move(why);
    cancel_asked();
    returning_ = 1;  // this loop's own
    for (auto& at : seats_) {
      if (!at.vote) continue;
      ++returning_;
      static_cast<grant_hold&>(*std::exchange(at.vote, nullptr))
          .begin_release([self = shared_from_this(), this](const result<void>&) { post([this] { returned(); }); });
    }
    returned();
  }

  void returned() {
    if (--returning_ == 0) finish(why_);
  }

  void be_patient_no_longer(std::uint64_t round) {
    if (done() || round != round_ || raising_) return;
    if (count([](const seat& s) { return s.vote != nullptr; }) == 0) {
      // There is nothing that could keep others from a majority; and the dead may be back.
      for (std::size_t i = 0; i < seats_.size(); ++i) {
        if (!seats_[i].dead() || seats_[i].asked) continue;
        seats_[i].attempt = 0;
        ask_once(i);
      }
      return meanwhile(jitter(patience_), [this, round] { be_patient_no_longer(round); });
    }
    give_back_votes();
    for (std::size_t i = 0; i < seats_.size(); ++i) {
      if (!seats_[i].asked || silent(i)) continue;
      cancel(i);
      seats_[i].asked = false;
      seats_[i].attempt = 0;
    }
    patience_ = std::min(patience_ * 2, greatest_patience);
    begin_later();
  }

  void begin_later() {
    ++round_;
    later(jitter(5ms), [this] {
      if (!done()) begin();
    });
  }

  /// The greatest token goes to every vote before the lease is handed out: any later majority shares a member with this
  /// one, and finds it there.
  void raise_tokens() {
    raising_ = true;
    fencing_token most;
    for (const auto& at : seats_)
      if (at.vote) most = std::max(most, at.vote->token());
    raised_ = 0;
    raises_out_ = 1;  // this loop's own
    for (std::size_t i = 0; i < seats_.size(); ++i) {
      if (!seats_[i].vote) continue;
      if (seats_[i].vote->token() == most) {
        ++raised_;
        continue;
      }
      ++raises_out_;
      const auto& grant = static_cast<const grant_hold&>(*seats_[i].vote).grant();
      members_[i].engine->raise(grant, most, [self = shared_from_this(), this](const result<bool>& done) {
        post([this, done] { on_raised(done); });
      });
    }
    if (--raises_out_ == 0) settle();
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
      // Nothing else bounds one that does not wait.
      if (!waits()) return end_without(why_.code == errc::lost ? failure{errc::timed_out, {}} : why_);
      give_back_votes();
      return begin_later();
    }
    holds got;
    for (auto& at : seats_)
      if (at.vote) got.push_back(std::exchange(at.vote, nullptr));
    auto majority = std::make_shared<composite_hold>(members_.front().claim.name, std::move(got), need_);
    if (majority->valid()) return hand_out(majority);
    // Writing the tokens took longer than the votes last.
    majority->drop();
    if (!waits()) return finish(failure{errc::timed_out, {}});
    begin_later();
  }

  void hand_out(const std::shared_ptr<composite_hold>& majority) {
    won_ = majority;
    majority->on_end([weak = weak_from_this()] {
      if (auto self = std::static_pointer_cast<majority_wait>(weak.lock()))
        self->post([p = self.get()] { p->cancel_asked(); });
    });
    finish(std::shared_ptr<hold>(majority));
  }

  void give_up() override {
    if (raising_) return;  // settle() comes back here
    cancel_asked();
    give_back_votes();
  }

  void give_back_votes() {
    for (auto& at : seats_)
      if (at.vote) give_back(std::exchange(at.vote, nullptr));
  }

  /// Without waiting: one that has died since must not hold up the others. The engine sees to what fails.
  static void give_back(const std::shared_ptr<hold>& vote) {
    static_cast<grant_hold&>(*vote).begin_release([](const result<void>&) {});
  }

  template <class Which>
  std::size_t count(Which which) const {
    return static_cast<std::size_t>(std::count_if(seats_.begin(), seats_.end(), which));
  }

  const std::size_t need_;
  std::vector<seat> seats_;
  std::uint64_t round_ = 0;
  std::size_t raised_ = 0;
  std::size_t raises_out_ = 0;
  bool raising_ = false;
  std::size_t returning_ = 0;
  bool ended_ = false;  // without a majority; answered when the votes are back
  std::weak_ptr<composite_hold> won_;
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
