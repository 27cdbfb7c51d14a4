#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace holdfast::detail {

/// A callable that is moved, not copied, and called at most once per owner: std::move_only_function for C++20.
template <class Signature>
class unique_function;

template <class R, class... Args>
class unique_function<R(Args...)> {
 public:
  unique_function() noexcept = default;
  unique_function(std::nullptr_t) noexcept {}

  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, unique_function> && std::is_invocable_r_v<R, F&, Args...>)
  unique_function(F&& callable)
      : callable_(std::make_unique<model<std::remove_cvref_t<F>>>(std::forward<F>(callable))) {}

  explicit operator bool() const noexcept { return callable_ != nullptr; }
  R operator()(Args... args) { return callable_->call(std::forward<Args>(args)...); }

 private:
  struct concept_type {
    virtual ~concept_type() = default;
    virtual R call(Args... args) = 0;
  };
  template <class F>
  struct model final : concept_type {
    explicit model(F&& f) : held(std::move(f)) {}
    explicit model(const F& f) : held(f) {}
    R call(Args... args) override { return held(std::forward<Args>(args)...); }
    F held;
  };

  std::unique_ptr<concept_type> callable_;
};

}  // namespace holdfast::detail
