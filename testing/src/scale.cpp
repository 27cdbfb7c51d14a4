#include <holdfast/testing/scale.hpp>

#include <algorithm>
#include <cstdlib>

namespace holdfast::testing {

int scaled(int n) {
  static const int percent = [] {
    const char* text = std::getenv("HOLDFAST_TEST_SCALE");
    const int value = text == nullptr ? 100 : std::atoi(text);
    return value > 0 ? value : 100;
  }();
  return std::max(1, static_cast<int>(static_cast<long long>(n) * percent / 100));
}

}  // namespace holdfast::testing
