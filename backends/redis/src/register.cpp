#include "redis_backend.hpp"

#include <holdfast/backend.hpp>

namespace {

using namespace holdfast;

result<std::unique_ptr<spi::backend>> make(uri where, spi::runtime& engine) {
  auto parsed = redis::settings::from(std::move(where));
  if (!parsed) return parsed.error();
  return redis::redis_backend::open(std::move(*parsed), engine);
}

[[maybe_unused]] const bool registered = [] {
  for (const char* scheme : {"redis", "redis+unix"}) {
    spi::register_backend({scheme, make, redis::redis_backend::can,
                           "one Redis or Valkey server, in Redisson's layout; a dead holder's lock ends with its ttl"});
  }
  spi::register_backend(
      {"redis+cluster", make, redis::redis_backend::can,
       "a Redis or Valkey Cluster, in Redisson's layout; a failover may forget who holds what: fence"});
  return true;
}();

}  // namespace

/// Asked for by the linker so that a static archive brings the registration along.
extern "C" HOLDFAST_EXPORT void holdfast_backend_redis() {}
