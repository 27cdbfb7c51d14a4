#pragma once

#include <condition_variable>
#include <coroutine>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

namespace holdfast::testing {

/// The smallest coroutine type that can be waited for: starts at once, frees its frame when it ends, and tells its
/// outcome to whoever calls get(). Holdfast brings none of its own; `operation` must do with any.
template <class T>
class task {
  struct outcome {
    std::mutex mutex;
    std::condition_variable done;
    std::optional<T> value;
    std::exception_ptr thrown;
  };

 public:
  struct promise_type {
    std::shared_ptr<outcome> shared = std::make_shared<outcome>();

    task get_return_object() { return task(shared); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_value(T value) {
      std::lock_guard lock(shared->mutex);
      shared->value.emplace(std::move(value));
      shared->done.notify_all();
    }
    void unhandled_exception() {
      std::lock_guard lock(shared->mutex);
      shared->thrown = std::current_exception();
      shared->done.notify_all();
    }
  };

  /// Blocks until the coroutine has ended. Throws what it threw.
  T get() {
    std::unique_lock lock(shared_->mutex);
    shared_->done.wait(lock, [this] { return shared_->value.has_value() || shared_->thrown; });
    if (shared_->thrown) std::rethrow_exception(shared_->thrown);
    return std::move(*shared_->value);
  }

 private:
  explicit task(std::shared_ptr<outcome> shared) : shared_(std::move(shared)) {}

  std::shared_ptr<outcome> shared_;
};

}  // namespace holdfast::testing
