#pragma once

#include "crew.hpp"
#include "row.hpp"

#include <chrono>
#include <string>

namespace holdfast::bench {

/// `count` leases of 30 s, kept alive for `window`. Throws measurement_error, also when one of them is lost.
footprint measure_holds(const std::string& url, const std::string& prefix, unsigned count,
                        std::chrono::nanoseconds window, const progress_callback& progress);

/// `count` async_acquire on one held lock; then it is released, and each holder counts and releases in turn.
/// Throws measurement_error, also when a count is lost.
footprint measure_pending(const std::string& url, const std::string& name, unsigned count,
                          const progress_callback& progress);

}  // namespace holdfast::bench
