#pragma once

#include <holdfast/error.hpp>
#include <holdfast/result.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <string>

namespace holdfast::testing {

/// Does `action()` throw holdfast::error with this code? For EXPECT_TRUE: says what happened instead.
template <class Action>
::testing::AssertionResult throws(errc expected, Action&& action) {
  const std::string wanted = "expected: " + make_error_code(expected).message() + "; but ";
  try {
    static_cast<void>(std::forward<Action>(action)());
  } catch (const error& thrown) {
    if (thrown.code() == make_error_code(expected)) return ::testing::AssertionSuccess() << thrown.what();
    return ::testing::AssertionFailure() << wanted << "it threw: " << thrown.what();
  } catch (const std::exception& thrown) {
    return ::testing::AssertionFailure() << wanted << "it threw no holdfast::error: " << thrown.what();
  }
  return ::testing::AssertionFailure() << wanted << "it threw nothing";
}

/// Is `outcome` a failure with this code?
template <class T>
::testing::AssertionResult failed(errc expected, const result<T>& outcome) {
  const std::string wanted = "expected: " + make_error_code(expected).message() + "; but it ";
  if (outcome.has_value()) return ::testing::AssertionFailure() << wanted << "succeeded";
  if (outcome.error().code == make_error_code(expected)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << wanted << "failed with: " << outcome.error().code.message() << " ("
                                       << outcome.error().detail << ")";
}

/// Is `outcome` a success?
template <class T>
::testing::AssertionResult succeeded(const result<T>& outcome) {
  if (outcome.has_value()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << outcome.error().code.message() << " (" << outcome.error().detail << ")";
}

/// The text of the holdfast::error that `action()` throws; empty if it throws none.
template <class Action>
std::string error_text(Action&& action) {
  try {
    static_cast<void>(std::forward<Action>(action)());
  } catch (const error& thrown) {
    return thrown.what();
  }
  return {};
}

}  // namespace holdfast::testing
