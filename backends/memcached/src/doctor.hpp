#pragma once

#include "reply.hpp"
#include "settings.hpp"

#include <holdfast/inspect.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

namespace holdfast::memcached {

/// What one server says of itself.
struct symptoms {
  address server;
  reply stats;
  reply settings;        ///< stats settings
  std::int64_t now = 0;  ///< Seconds of our wall clock when it was asked.
};

/// What that means for locks.
std::vector<finding> judge(const symptoms& seen, const settings& where);

}  // namespace holdfast::memcached
