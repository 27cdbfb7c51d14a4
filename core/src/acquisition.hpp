#pragma once

#include "acquire_machine.hpp"
#include "parker.hpp"
#include "scheduler.hpp"
#include "store_grant.hpp"

#include <holdfast/detail/hold.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

namespace holdfast::detail {

class engine;

/// What the caller of an acquisition wants besides the claim.
struct acquire_terms {
  std::optional<lease_clock::time_point> deadline;  ///< None: for ever. Unused if it does not wait.
  acquire_machine::waiting waits = acquire_machine::waiting::yes;
  store_grant::life life = store_grant::life::renewed;
  std::stop_token stop;
  parker* sleeper = nullptr;  ///< The blocked caller, until it is answered.
};

/// One acquisition, from the question to the grant or the last trace of it being gone: drives the acquire machine.
///
/// Events are taken one at a time, in order, by whichever thread brings one when nobody is at it; a completion that
/// comes back inside a call is queued like any other, so nothing recurses. Thread safety: safe.
class acquisition : public std::enable_shared_from_this<acquisition> {
 public:
  /// The hold is null for semaphores and latches; the failure is errc::timed_out with an empty detail also where a
  /// caller that does not wait found it busy.
  using completion = unique_function<void(result<std::shared_ptr<hold>>)>;

  acquisition(std::shared_ptr<engine> engine, spi::claim claim, acquire_terms terms, completion done);

  void start(spi::caller from);
  void cancel();

  /// The gate lets this one in: nobody else of this process is at the store for the name.
  void go_inside(spi::caller from);
  /// The hold of the one before, passed on without asking the store.
  void receive(std::shared_ptr<store_grant> grant, fencing_token token);

  /// For gates, about a parked one, which nobody can answer as long as it stands in the queue: whether its blocked
  /// caller looks out for the lock instead of sleeping, and that it shall.
  bool looks_out() const noexcept { return terms_.sleeper != nullptr && terms_.sleeper->looks_out(); }
  void look_out() const noexcept {
    if (terms_.sleeper != nullptr) terms_.sleeper->look_out();
  }

  /// A parked one learns that the store does not answer.
  void fail(const failure& why);

  /// Waits for the store, which has not said anything.
  bool silent() const {
    std::lock_guard lock(mutex_);
    return done_ && !parked_ && !answered_once_;
  }
  /// Is in line at the store.
  bool watches() const {
    std::lock_guard lock(mutex_);
    return done_ && !parked_ && machine_.now() == acquire_machine::phase::watching;
  }
  bool takes_handover() const noexcept { return terms_.life == store_grant::life::renewed; }

 private:
  using event = acquire_machine::event;
  using action = acquire_machine::action;

  void feed(event e);
  void feed_with(event e, const std::function<void()>& note);
  void run(std::unique_lock<std::mutex>& lock);
  void handle_parked(event e);
  void take_over();
  void perform(const action& next);
  void arm_giving_up();
  void enter();
  void on_entered(result<spi::entry_result> answer);
  void watch();
  void leave();
  void on_left(const result<bool>& answer);
  bool outlived(const spi::granted& grant, lease_clock::time_point since) const;
  void look_soon();
  void pause();
  void set_timer(lease_clock::time_point when);
  void stop_timer();
  void deliver(acquire_machine::answer what);
  void answer(result<std::shared_ptr<hold>> outcome);
  void finish();
  bool gated() const noexcept;

  const std::shared_ptr<engine> engine_;
  const spi::claim claim_;
  const acquire_terms terms_;
  const lease_clock::time_point began_;

  mutable std::mutex mutex_;
  acquire_machine machine_;
  std::vector<event> events_;
  bool running_ = false;
  completion done_;
  spi::granted entered_;                 // what enter gave
  spi::granted handed_;                  // what a wake gave
  std::shared_ptr<store_grant> passed_;  // what the holder before gave, with its next token
  fencing_token passed_token_;
  failure why_;
  std::string watch_why_;
  bool answered_once_ = false;  // the store has said something, if only "busy"
  lease_clock::time_point look_again_;

  // Touched only by the thread that runs the events.
  spi::caller caller_ = spi::caller::must_not_block;
  bool parked_ = false;
  bool contended_ = false;
  bool holds_ = false;
  bool finished_ = false;
  std::optional<event> missed_;  // giving up, while the gate was about to let this one in
  bool hopeless_ = false;
  unsigned failures_ = 0;
  unsigned watch_failures_ = 0;
  lease_clock::time_point asked_at_;
  std::optional<lease_clock::time_point> failing_since_;
  scheduler::timer timer_ = 0;
  scheduler::timer deadline_timer_ = 0;
  bool armed_ = false;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

}  // namespace holdfast::detail
