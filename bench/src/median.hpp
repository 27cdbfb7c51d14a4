#pragma once

#include <algorithm>
#include <vector>

namespace holdfast::bench {

/// The middle value; of an even number the mean of the middle two. Zero when empty.
template <class T>
T median(std::vector<T> values) {
  if (values.empty()) return T{};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace holdfast::bench
