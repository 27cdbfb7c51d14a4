#pragma once

#include <chrono>

namespace holdfast::bench {

/// What the kernel says about this process.
double resident_mib();
unsigned thread_count();
std::chrono::nanoseconds cpu_time();
/// As many open files as this user may have: stores that need one per lease are not to fail at the soft limit.
void raise_file_limit();

}  // namespace holdfast::bench
