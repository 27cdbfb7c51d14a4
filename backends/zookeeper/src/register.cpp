#include "zookeeper_backend.hpp"

#include <holdfast/backend.hpp>

#include <utility>

namespace {

using namespace holdfast;

result<std::unique_ptr<spi::backend>> make(uri where, spi::runtime& engine) {
  auto parsed = zookeeper::settings::from(std::move(where));
  if (!parsed) return parsed.error();
  return zookeeper::zookeeper_backend::open(std::move(*parsed), engine);
}

[[maybe_unused]] const bool registered = [] {
  spi::register_backend({"zk", make, zookeeper::zookeeper_backend::can,
                         "a ZooKeeper ensemble, in Curator's layout; a dead holder's lock ends with its session"});
  return true;
}();

}  // namespace

/// Asked for by the linker so that a static archive brings the registration along.
extern "C" HOLDFAST_EXPORT void holdfast_backend_zookeeper() {}
