#include "mysql_backend.hpp"

#include <holdfast/backend.hpp>

#include <utility>

namespace {

using namespace holdfast;

result<std::unique_ptr<spi::backend>> make(uri where, spi::runtime& engine) {
  auto parsed = mysql::settings::from(std::move(where));
  if (!parsed) return parsed.error();
  return mysql::mysql_backend::open(std::move(*parsed), engine);
}

[[maybe_unused]] const bool registered = [] {
  for (const char* scheme : {"mysql", "mariadb"})
    spi::register_backend({scheme, make, mysql::mysql_backend::can,
                           "a MySQL or MariaDB database, leases in tables; a dead holder's lock ends with its ttl"});
  return true;
}();

}  // namespace

/// Asked for by the linker so that a static archive brings the registration along.
extern "C" HOLDFAST_EXPORT void holdfast_backend_mysql() {}
