#include "memory_backend.hpp"

#include <holdfast/backend.hpp>

namespace {

using namespace holdfast;

result<std::unique_ptr<spi::backend>> make(uri where, spi::runtime& engine) {
  if (!where.hosts.empty() || !where.user.empty() || !where.password.empty()) {
    return {errc::invalid_argument, "memory: has no host; write memory: or memory:NAME"};
  }
  if (auto left = where.expect_no_more_options("none"); !left) return left.error();
  return std::unique_ptr<spi::backend>(std::make_unique<memory::memory_backend>(where.path, engine));
}

[[maybe_unused]] const bool registered = [] {
  spi::register_backend({"memory", make, memory::memory_backend::can,
                         "this process only; the reference, and what belongs in unit tests"});
  return true;
}();

}  // namespace

/// Asked for by the linker so that a static archive brings the registration along.
extern "C" HOLDFAST_EXPORT void holdfast_backend_memory() {}
