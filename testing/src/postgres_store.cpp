#include "database_fixture.hpp"

#include <holdfast/testing/postgres_server.hpp>

namespace holdfast::testing {

namespace {

/// Schemas know nothing of each other.
class postgres_fixture final : public database_fixture<postgres_server> {
 public:
  std::string url(std::size_t index) const override {
    return url_with(index == 0 ? "" : "?schema=store_" + std::to_string(index));
  }
  spi::capabilities supports() const override { return {true, true, true, true, true, true, true, true, true}; }
  bool notices_death_at_once() const override { return false; }
};

/// Locks in ShedLock's table; tables with other names know nothing of each other.
class postgres_shedlock_fixture final : public database_fixture<postgres_server> {
 public:
  std::string url(std::size_t index) const override {
    return url_with("?layout=shedlock" + (index == 0 ? "" : "&table=store_" + std::to_string(index)));
  }
  spi::capabilities supports() const override { return {.mutex = true}; }
  bool notices_death_at_once() const override { return false; }
  bool takes_name(std::string_view name) const override { return fits_shedlock(name); }
};

}  // namespace

store_parameter postgres_store() {
  return {"postgres", [] { return std::make_unique<postgres_fixture>(); }};
}

store_parameter postgres_shedlock_store() {
  return {"postgres_shedlock", [] { return std::make_unique<postgres_shedlock_fixture>(); }};
}

}  // namespace holdfast::testing
