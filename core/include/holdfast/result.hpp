#pragma once

#include <holdfast/error.hpp>

#include <type_traits>
#include <utility>
#include <variant>

namespace holdfast {

/// A value or a failure: std::expected<T, failure> for C++20.
///
/// Our own type at every language level, so that C++20 and C++23 callers share one ABI.
/// value() throws holdfast::error where there is none; operator* requires one.
template <class T>
class result {
 public:
  using value_type = T;
  using error_type = failure;

  result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  result(failure why) : state_(std::in_place_index<1>, std::move(why)) {}
  result(errc code, std::string detail) : result(failure{code, std::move(detail)}) {}

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  T& value() & { return check(), std::get<0>(state_); }
  const T& value() const& { return check(), std::get<0>(state_); }
  T&& value() && { return check(), std::get<0>(std::move(state_)); }
  template <class U>
  T value_or(U&& other) && {
    return has_value() ? std::get<0>(std::move(state_)) : static_cast<T>(std::forward<U>(other));
  }

  T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }

  failure& error() & noexcept { return *std::get_if<1>(&state_); }
  const failure& error() const& noexcept { return *std::get_if<1>(&state_); }
  failure&& error() && noexcept { return std::move(*std::get_if<1>(&state_)); }

  template <class F>
  auto and_then(F&& next) && -> std::invoke_result_t<F, T&&> {
    if (has_value()) return std::forward<F>(next)(std::get<0>(std::move(state_)));
    return std::get<1>(std::move(state_));
  }
  template <class F>
  auto transform(F&& change) && -> result<std::invoke_result_t<F, T&&>> {
    if (has_value()) return std::forward<F>(change)(std::get<0>(std::move(state_)));
    return std::get<1>(std::move(state_));
  }

 private:
  void check() const {
    if (!has_value()) throw holdfast::error(*std::get_if<1>(&state_));
  }

  std::variant<T, failure> state_;
};

/// Success or a failure.
template <>
class result<void> {
 public:
  using value_type = void;
  using error_type = failure;

  result() noexcept = default;
  result(failure why) : why_(std::in_place_index<1>, std::move(why)) {}
  result(errc code, std::string detail) : result(failure{code, std::move(detail)}) {}

  bool has_value() const noexcept { return why_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }
  void value() const {
    if (!has_value()) throw holdfast::error(*std::get_if<1>(&why_));
  }
  const failure& error() const noexcept { return *std::get_if<1>(&why_); }

 private:
  std::variant<std::monostate, failure> why_;
};

}  // namespace holdfast
