#pragma once

#include "used_servers.hpp"

#include <holdfast/testing/store_fixture.hpp>

#include <memory>
#include <string>

namespace holdfast::testing {

/// A database of its own for every test, on a server that the tests of one program share until one of them harms it. To
/// drop a database takes as long as most tests: they go with the server, which serves a few tests only.
template <class Server>
class database_fixture : public store_fixture {
 public:
  database_fixture()
      : server_(idle().take([] { return std::make_unique<used>(); })),
        database_("test_" + std::to_string(++server_->databases)) {
    server_->server.query("CREATE DATABASE " + database_);
  }
  database_fixture(const database_fixture&) = delete;
  database_fixture& operator=(const database_fixture&) = delete;
  ~database_fixture() override {
    if (!harmed_ && server_->databases < most_databases) idle().give_back(std::move(server_));
  }

  bool cross_process() const override { return true; }

  bool has_server() const override { return true; }
  void kill_server() override { harm().kill(); }
  void start_server() override { harm().start(); }
  void pause_server() override { harm().pause(); }
  void resume_server() override { harm().resume(); }

 protected:
  /// `options` as they are, with their question mark.
  std::string url_with(const std::string& options) const { return server_->server.url_of(database_, options); }

 private:
  struct used {
    Server server;
    int databases = 0;
  };
  static constexpr int most_databases = 20;

  static used_servers<used>& idle() { return used_servers<used>::of_this_program(); }
  Server& harm() {
    harmed_ = true;
    return server_->server;
  }

  std::unique_ptr<used> server_;
  const std::string database_;
  bool harmed_ = false;
};

}  // namespace holdfast::testing
