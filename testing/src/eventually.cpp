#include <holdfast/testing/eventually.hpp>

#include <algorithm>
#include <thread>

namespace holdfast::testing {

void look_out::pause() {
  constexpr std::chrono::microseconds longest{5000};
  std::this_thread::sleep_for(next_);
  next_ = std::min(next_ * 2, longest);
}

}  // namespace holdfast::testing
