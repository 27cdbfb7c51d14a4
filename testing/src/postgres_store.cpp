#include <holdfast/testing/postgres_server.hpp>
#include <holdfast/testing/store_fixture.hpp>

namespace holdfast::testing {

namespace {

/// A server per test; schemas know nothing of each other.
class postgres_fixture : public store_fixture {
 public:
  std::string url(std::size_t index) const override {
    return server_.url(index == 0 ? "" : "?schema=store_" + std::to_string(index));
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
  postgres_server server_;
};

/// Advisory locks know nothing of schemas: each store is a database of its own.
class postgres_session_fixture final : public postgres_fixture {
 public:
  std::string url(std::size_t index) const override {
    const std::string database = index == 0 ? "postgres" : "store_" + std::to_string(index);
    if (server_.query("SELECT count(*) FROM pg_database WHERE datname = '" + database + "'") == "0")
      server_.query("CREATE DATABASE " + database);
    return "postgresql://postgres@127.0.0.1:" + std::to_string(server_.port()) + "/" + database + "?scheme=session";
  }
};

}  // namespace

store_parameter postgres_session_store() {
  return {"postgres_session", [] { return std::make_unique<postgres_session_fixture>(); }};
}

store_parameter postgres_store() {
  return {"postgres", [] { return std::make_unique<postgres_fixture>(); }};
}

}  // namespace holdfast::testing
