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

}  // namespace

store_parameter mysql_store() {
  return {"mysql", [] { return std::make_unique<mysql_fixture>(); }};
}

}  // namespace holdfast::testing
