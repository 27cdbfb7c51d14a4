#include "back_off.hpp"

#include <algorithm>
#include <random>

namespace holdfast::detail {

std::chrono::nanoseconds back_off(unsigned failures) {
  using namespace std::chrono_literals;
  thread_local std::minstd_rand random{std::random_device{}()};
  const std::chrono::nanoseconds whole =
      std::min<std::chrono::nanoseconds>(10ms * (1U << std::min(failures, 6U)), 500ms);
  return whole / 2 +
         std::chrono::nanoseconds(std::uniform_int_distribution<std::int64_t>(0, whole.count() / 2)(random));
}

}  // namespace holdfast::detail
