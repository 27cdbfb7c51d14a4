#pragma once

#include <holdfast/detail/executor.hpp>
#include <holdfast/result.hpp>

#include <condition_variable>
#include <coroutine>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace holdfast {

namespace detail {

/// What an operation and the engine share: the outcome, and who waits for it.
template <class T>
class operation_state {
 public:
  /// `name` is what is waited for: get() names it in what it throws.
  operation_state(std::shared_ptr<executor> callbacks, std::string name)
      : callbacks_(std::move(callbacks)), name_(std::move(name)) {}

  void complete(result<T> outcome) {
    std::unique_lock lock(mutex_);
    if (abandoned_) {
      lock.unlock();
      // A lease nobody wants is released by its destructor, which blocks on the store: never on the engine's threads.
      discard(std::move(outcome));
      return;
    }
    outcome_.emplace(std::move(outcome));
    auto next = std::move(next_);
    // Notified under the lock: the waiter owns the last reference and may destroy this as soon as it can lock.
    done_.notify_all();
    lock.unlock();
    if (next) callbacks_->post(std::move(next));
  }

  bool ready() const {
    std::lock_guard lock(mutex_);
    return outcome_.has_value();
  }

  result<T> wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return outcome_.has_value(); });
    return std::move(*outcome_);
  }

  /// Requires: ready.
  result<T> take() {
    std::lock_guard lock(mutex_);
    return std::move(*outcome_);
  }

  /// Runs `next` on the callback executor once there is an outcome. False, and nothing kept, if there is one already.
  bool continue_with(unique_function<void()>& next) {
    std::lock_guard lock(mutex_);
    if (outcome_) return false;
    next_ = std::move(next);
    return true;
  }

  void on_abandon(unique_function<void()> cancel) {
    std::lock_guard lock(mutex_);
    if (!outcome_) cancel_ = std::move(cancel);
  }

  /// What a success that nobody takes must undo, besides destroying its value.
  void on_discard(unique_function<void()> undo) {
    std::lock_guard lock(mutex_);
    undo_ = std::move(undo);
  }

  void abandon() {
    unique_function<void()> cancel;
    std::optional<result<T>> unwanted;
    {
      std::lock_guard lock(mutex_);
      abandoned_ = true;
      // Taken out here, so that it never dies with the last reference on a thread that must not block.
      unwanted = std::move(outcome_);
      cancel = std::move(cancel_);
    }
    if (unwanted) return discard(std::move(*unwanted));
    if (cancel) cancel();
  }

  executor& callbacks() { return *callbacks_; }
  const std::string& name() const noexcept { return name_; }

 private:
  void discard(result<T> unwanted) {
    callbacks_->post([unwanted = std::move(unwanted), undo = std::move(undo_)]() mutable {
      if (unwanted && undo) undo();
    });
  }

  const std::shared_ptr<executor> callbacks_;
  const std::string name_;

  mutable std::mutex mutex_;
  std::condition_variable done_;
  std::optional<result<T>> outcome_;
  unique_function<void()> next_;
  unique_function<void()> cancel_;
  unique_function<void()> undo_;
  bool abandoned_ = false;
};

}  // namespace detail

/// An acquisition or wait that has been started and goes on by itself; no thread is spent on it.
///
/// Use one of: co_await (any coroutine type) -> result<T>; get(), which blocks and throws; then(f). Destroying it
/// unused cancels the wait and releases what was granted.
///
/// Thread safety: one thread at a time. Runs on: continuations run on the client's callback threads, never on the one
/// that renews leases; a blocked callback delays other callbacks of the same client, not renewals.
template <class T>
class [[nodiscard]] operation {
 public:
  explicit operation(std::shared_ptr<detail::operation_state<T>> state) noexcept : state_(std::move(state)) {}
  operation(operation&&) noexcept = default;
  operation& operator=(operation&& other) noexcept {
    if (this != &other) {
      drop();
      state_ = std::move(other.state_);
    }
    return *this;
  }
  ~operation() { drop(); }

  bool ready() const { return state_->ready(); }

  /// Blocks until the outcome is there. Throws holdfast::error.
  T get() {
    auto state = std::move(state_);
    auto outcome = state->wait();
    if (!outcome) throw error(outcome.error(), "acquire", state->name());
    if constexpr (!std::is_void_v<T>) return std::move(*outcome);
  }

  /// Calls `f(result<T>)` exactly once, also when the outcome is there already. `f` may release or destroy the lease;
  /// what it throws is logged and dropped. Consumes the operation.
  template <class F>
  void then(F f) {
    auto state = std::move(state_);
    auto& shared = *state;
    detail::unique_function<void()> call = [state = std::move(state), f = std::move(f)]() mutable { f(state->take()); };
    if (!shared.continue_with(call)) shared.callbacks().post(std::move(call));
  }

  bool await_ready() const { return state_->ready(); }
  bool await_suspend(std::coroutine_handle<> waiting) {
    detail::unique_function<void()> resume = [waiting] { waiting.resume(); };
    return state_->continue_with(resume);
  }
  result<T> await_resume() {
    auto state = std::move(state_);
    return state->take();
  }

 private:
  void drop() noexcept {
    if (state_) state_->abandon();
    state_.reset();
  }

  std::shared_ptr<detail::operation_state<T>> state_;
};

}  // namespace holdfast
