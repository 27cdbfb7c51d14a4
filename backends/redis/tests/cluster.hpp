#pragma once

#include <holdfast/testing/redis_cluster.hpp>

namespace holdfast::testing {

/// The cluster of this program: three masters, each with a replica. Whole, and empty.
inline redis_cluster& the_cluster() {
  static redis_cluster all(3, 1);
  all.start_all();
  all.flush();
  return all;
}

/// Another master than the one that serves the key.
inline std::size_t another_master(redis_cluster& nodes, const std::string& key) {
  const std::size_t now = nodes.master_of(key);
  for (const char* other : {"a", "b", "c", "d", "e", "f", "g", "h"})
    if (nodes.master_of(other) != now) return nodes.master_of(other);
  return now;
}

}  // namespace holdfast::testing
