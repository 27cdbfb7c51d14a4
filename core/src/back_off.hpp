#pragma once

#include <chrono>

namespace holdfast::detail {

/// 10 ms doubling to 500 ms with the number of failures, drawn from the upper half: clients that failed together do not
/// come back together.
std::chrono::nanoseconds back_off(unsigned failures);

}  // namespace holdfast::detail
