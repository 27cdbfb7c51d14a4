#include "sqlite_backend.hpp"

#include <holdfast/backend.hpp>

namespace {

using namespace holdfast;

result<std::unique_ptr<spi::backend>> make(uri where, spi::runtime& engine) {
  auto store = sqlite::store::open(std::move(where), engine);
  if (!store) return store.error();
  return std::unique_ptr<spi::backend>(std::make_unique<sqlite::sqlite_backend>(std::move(*store), engine));
}

[[maybe_unused]] const bool registered = [] {
  spi::register_backend({"sqlite", make, sqlite::sqlite_backend::can,
                         "all processes of one machine; the embedded default, nothing to install or run"});
  return true;
}();

}  // namespace

/// Asked for by the linker so that a static archive brings the registration along.
extern "C" HOLDFAST_EXPORT void holdfast_backend_sqlite() {}
