#include "advisory_store.hpp"
#include "postgres_backend.hpp"

#include <holdfast/backend.hpp>

#include <utility>

namespace {

using namespace holdfast;

result<std::unique_ptr<spi::backend>> make(uri where, spi::runtime& engine) {
  auto parsed = postgres::settings::from(std::move(where));
  if (!parsed) return parsed.error();
  if (parsed->held_by == postgres::settings::scheme::session)
    return postgres::open_sessions(std::move(*parsed), engine);
  return postgres::postgres_backend::open(std::move(*parsed), engine);
}

[[maybe_unused]] const bool registered = [] {
  spi::register_backend({"postgresql", make, postgres::postgres_backend::can,
                         "a PostgreSQL database, leases in tables; a dead holder's lock ends with its ttl"});
  return true;
}();

}  // namespace

/// Asked for by the linker so that a static archive brings the registration along.
extern "C" HOLDFAST_EXPORT void holdfast_backend_postgres() {}
