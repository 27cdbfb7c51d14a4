#include "etcd_backend.hpp"

#include <holdfast/backend.hpp>

namespace {

using namespace holdfast;

result<std::unique_ptr<spi::backend>> make(uri where, spi::runtime& engine) {
  auto parsed = etcd::settings::from(std::move(where));
  if (!parsed) return parsed.error();
  return etcd::etcd_backend::open(*parsed, engine);
}

[[maybe_unused]] const bool registered = [] {
  const char* const note =
      "an etcd cluster, in the layout of etcdctl lock and Go's concurrency package; survives a minority";
  for (const char* const scheme : {"etcd", "etcds"})
    spi::register_backend({scheme, make, etcd::etcd_backend::can, note});
  return true;
}();

}  // namespace

/// Asked for by the linker so that a static archive brings the registration along.
extern "C" HOLDFAST_EXPORT void holdfast_backend_etcd() {}
