#pragma once

#include "link.hpp"
#include "script.hpp"

#include <string>
#include <vector>

namespace holdfast::redis {

/// One script with what it is to work on, and who wants to know: the answer is a failure, or a reply that is no error.
struct errand {
  const script& what;
  std::vector<std::string> keys;  ///< The first decides who serves it.
  std::vector<std::string> arguments;
  link::answer told;
};

}  // namespace holdfast::redis
