#pragma once

#include <functional>

namespace holdfast::cli {

/// Calls `work` and returns its exit code; what it throws becomes a line on standard error and an exit code.
int answer_errors(const std::function<int()>& work) noexcept;

}  // namespace holdfast::cli
