#pragma once

#include <mutex>
#include <utility>

namespace holdfast::detail {

/// A value that can only be reached under its mutex: `state_.with([](auto& s) { ... })`.
template <class T>
class guarded {
 public:
  template <class... Args>
  explicit guarded(Args&&... args) : value_(std::forward<Args>(args)...) {}

  template <class F>
  decltype(auto) with(F&& f) {
    std::lock_guard lock(mutex_);
    return std::forward<F>(f)(value_);
  }
  template <class F>
  decltype(auto) with(F&& f) const {
    std::lock_guard lock(mutex_);
    return std::forward<F>(f)(value_);
  }

 private:
  mutable std::mutex mutex_;
  T value_;
};

}  // namespace holdfast::detail
