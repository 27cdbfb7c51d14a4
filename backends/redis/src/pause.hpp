#pragma once

#include <algorithm>
#include <chrono>
#include <random>

namespace holdfast::redis {

/// How long to wait before another attempt to connect: up to a second, with jitter, so that a thousand clients of a
/// server that comes back do not come at once.
inline std::chrono::nanoseconds pause_before_dialling(unsigned failures) {
  using namespace std::chrono_literals;
  thread_local std::minstd_rand random{std::random_device{}()};
  const std::chrono::nanoseconds whole = std::min<std::chrono::nanoseconds>(10ms * (1U << std::min(failures, 7U)), 1s);
  return whole / 2 +
         std::chrono::nanoseconds(std::uniform_int_distribution<std::int64_t>(0, whole.count() / 2)(random));
}

}  // namespace holdfast::redis
