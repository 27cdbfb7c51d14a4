#include "database_fixture.hpp"

#include <holdfast/testing/mariadb_server.hpp>

namespace holdfast::testing {

namespace {

/// Tables with other names know nothing of each other.
class mysql_fixture final : public database_fixture<mariadb_server> {
 public:
  std::string url(std::size_t index) const override {
    return url_with(index == 0 ? "" : "?prefix=store_" + std::to_string(index) + "_");
  }
  spi::capabilities supports() const override { return {true, true, true, true, true, true, true, true, true}; }
  bool notices_death_at_once() const override { return false; }
};

/// Locks in ShedLock's table; tables with other names know nothing of each other.
class mysql_shedlock_fixture final : public database_fixture<mariadb_server> {
 public:
  std::string url(std::size_t index) const override {
    return url_with("?layout=shedlock" + (index == 0 ? "" : "&table=store_" + std::to_string(index)));
  }
  spi::capabilities supports() const override { return {.mutex = true}; }
  bool notices_death_at_once() const override { return false; }
  bool takes_name(std::string_view name) const override { return fits_shedlock(name) && !name.ends_with(' '); }
};

}  // namespace

store_parameter mysql_store() {
  return {"mysql", [] { return std::make_unique<mysql_fixture>(); }};
}

store_parameter mysql_shedlock_store() {
  return {"mysql_shedlock", [] { return std::make_unique<mysql_shedlock_fixture>(); }};
}

}  // namespace holdfast::testing
