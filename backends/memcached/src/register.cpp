#include "memcached_backend.hpp"

#include <holdfast/backend.hpp>

#include <utility>

namespace {

using namespace holdfast;

result<std::unique_ptr<spi::backend>> make(uri where, spi::runtime& engine) {
  auto parsed = memcached::settings::from(std::move(where));
  if (!parsed) return parsed.error();
  return memcached::memcached_backend::open(std::move(*parsed), engine);
}

[[maybe_unused]] const bool registered = [] {
  spi::register_backend({"memcached", make, memcached::memcached_backend::can,
                         "memcached, best effort: it may evict a lock, and a restart forgets all of them: fence"});
  return true;
}();

}  // namespace

/// Asked for by the linker so that a static archive brings the registration along.
extern "C" HOLDFAST_EXPORT void holdfast_backend_memcached() {}
