#pragma once

#include <holdfast/backend.hpp>

#include <algorithm>
#include <chrono>
#include <random>

namespace holdfast::memcached {

/// Between half of `whole` and all of it.
inline std::chrono::nanoseconds jittered(std::chrono::nanoseconds whole) {
  thread_local std::minstd_rand random{std::random_device{}()};
  return whole / 2 +
         std::chrono::nanoseconds(std::uniform_int_distribution<std::int64_t>(0, whole.count() / 2)(random));
}

/// How long a server that stood still is given to set its clock. It does so as soon as its first thread runs, but
/// others may run before that one and answer by the old clock; on a busy machine for tens of milliseconds.
inline constexpr std::chrono::milliseconds catching_up(500);

/// How long to wait before another attempt to connect: up to a second, so that a thousand clients of a server that
/// comes back do not come at once.
inline std::chrono::nanoseconds pause_before_dialling(unsigned failures) {
  using namespace std::chrono_literals;
  return jittered(std::min<std::chrono::nanoseconds>(10ms * (1U << std::min(failures, 7U)), 1s));
}

/// How long one who waits lets pass before he looks again. Nobody tells him: the server has no way to. `looks`: how
/// many times he did in vain; `rank`: how many of this client are ahead of him and look, too.
inline std::chrono::nanoseconds pause_before_looking(unsigned looks, std::size_t rank) {
  using namespace std::chrono_literals;
  const std::chrono::nanoseconds grown =
      std::min<std::chrono::nanoseconds>(1ms * (1U << std::min(looks / 2, 6U)), 50ms);
  return jittered(std::min<std::chrono::nanoseconds>(grown * (1 + std::min<std::size_t>(rank, 400)), 20s));
}

}  // namespace holdfast::memcached
