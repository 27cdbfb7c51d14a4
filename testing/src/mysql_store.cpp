#include <holdfast/testing/mariadb_server.hpp>
#include <holdfast/testing/store_fixture.hpp>

namespace holdfast::testing {

namespace {

/// A server per test; tables with other names know nothing of each other.
class mysql_fixture : public store_fixture {
 public:
  std::string url(std::size_t index) const override {
    return server_.url(index == 0 ? "" : "?prefix=store_" + std::to_string(index) + "_");
  }
  spi::capabilities supports() const override { return {true, true, true, true, true, true, true, true, true}; }
  bool cross_process() const override { return true; }
  bool notices_death_at_once() const override { return false; }

  bool has_server() const override { return true; }
  void kill_server() override { server_.kill(); }
  void start_server() override { server_.start(); }
  void pause_server() override { server_.pause(); }
  void resume_server() override { server_.resume(); }

 protected:
  const mariadb_server& server() const { return server_; }

 private:
  mariadb_server server_;
};

/// Locks in ShedLock's table; tables with other names know nothing of each other.
class mysql_shedlock_fixture final : public mysql_fixture {
 public:
  std::string url(std::size_t index) const override {
    return server().url("?layout=shedlock" + (index == 0 ? "" : "&table=store_" + std::to_string(index)));
  }
  spi::capabilities supports() const override { return {.mutex = true}; }
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
