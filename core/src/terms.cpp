#include "terms.hpp"

#include <string>

namespace holdfast::detail {

result<void> check_ttl(std::chrono::nanoseconds ttl) {
  if (ttl >= least_ttl && ttl <= greatest_ttl) return {};
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(ttl).count();
  return {errc::invalid_argument, "ttl: " + std::to_string(milliseconds) + " ms; 10 ms to 30 days are allowed"};
}

}  // namespace holdfast::detail
