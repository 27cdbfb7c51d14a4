#include "redis_backend.hpp"
#include "redlock_backend.hpp"

#include <holdfast/backend.hpp>

#include <utility>

namespace {

using namespace holdfast;

result<std::unique_ptr<spi::backend>> make(uri where, spi::runtime& engine) {
  auto parsed = redis::settings::from(std::move(where));
  if (!parsed) return parsed.error();
  return redis::redis_backend::open(std::move(*parsed), engine);
}

result<std::unique_ptr<spi::backend>> make_quorum(uri where, spi::runtime& engine) {
  auto parsed = redis::settings::each_from(std::move(where));
  if (!parsed) return parsed.error();
  return redis::redlock_backend::open(std::move(*parsed), engine);
}

[[maybe_unused]] const bool registered = [] {
  const char* const server = "one Redis or Valkey server, in Redisson's layout; a dead holder's lock ends with its ttl";
  const char* const sentinel = "the Redis or Valkey master that sentinels name; a failover may forget who holds what";
  for (const auto& [scheme, note] : {std::pair("redis", server), std::pair("rediss", server),
                                     std::pair("redis+unix", server), std::pair("redis+sentinel", sentinel)})
    spi::register_backend({scheme, make, redis::layout({}).supports(), note});
  spi::register_backend({"redlock", make_quorum, redis::redlock_backend::can,
                         "a majority of independent Redis servers; survives the loss of the others"});
  spi::register_backend(
      {"redis+cluster", make, redis::layout({}).supports(),
       "a Redis or Valkey Cluster, in Redisson's layout; a failover may forget who holds what: fence"});
  return true;
}();

}  // namespace

/// Asked for by the linker so that a static archive brings the registration along.
extern "C" HOLDFAST_EXPORT void holdfast_backend_redis() {}
