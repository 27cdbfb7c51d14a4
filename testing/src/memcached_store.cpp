#include "used_servers.hpp"

#include <holdfast/testing/memcached_server.hpp>
#include <holdfast/testing/store_fixture.hpp>

#include <map>
#include <memory>
#include <mutex>

namespace holdfast::testing {

namespace {

/// A server in its first second grants nothing: those of earlier tests are used again, emptied.
std::unique_ptr<memcached_server> take() {
  // The largest cells do not fit into an item of the usual size.
  return used_servers<memcached_server>::of_this_program().take(
      [] { return std::make_unique<memcached_server>(std::vector<std::string>{"-I", "2m"}); });
}

void give_back(std::unique_ptr<memcached_server> one) {
  if (one->ask("flush_all") == "OK\r\n") used_servers<memcached_server>::of_this_program().give_back(std::move(one));
}

class memcached_fixture final : public store_fixture {
 public:
  memcached_fixture() { server(0); }
  memcached_fixture(const memcached_fixture&) = delete;
  memcached_fixture& operator=(const memcached_fixture&) = delete;
  ~memcached_fixture() override {
    for (auto& [index, one] : servers_) give_back(std::move(one));
  }

  std::string url(std::size_t index) const override { return server(index).url(); }
  spi::capabilities supports() const override { return {.mutex = true, .permits = true, .cell = true}; }
  bool cross_process() const override { return true; }
  bool notices_death_at_once() const override { return false; }

  bool has_server() const override { return true; }
  void kill_server() override { server(0).kill(); }
  void start_server() override { server(0).start(); }
  void pause_server() override { server(0).pause(); }
  void resume_server() override { server(0).resume(); }

 private:
  memcached_server& server(std::size_t index) const {
    const std::lock_guard lock(mutex_);
    auto& one = servers_[index];
    if (!one) one = take();
    return *one;
  }

  mutable std::mutex mutex_;
  mutable std::map<std::size_t, std::unique_ptr<memcached_server>> servers_;
};

}  // namespace

store_parameter memcached_store() {
  return {"memcached", [] { return std::make_unique<memcached_fixture>(); }};
}

}  // namespace holdfast::testing
