#include <holdfast/testing/redis_server.hpp>
#include <holdfast/testing/store_fixture.hpp>

#include <array>

namespace holdfast::testing {

namespace {

/// Three servers per test.
class redlock_fixture final : public store_fixture {
 public:
  std::string url(std::size_t index) const override {
    std::string hosts;
    for (const auto& server : servers_)
      hosts += (hosts.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(server.port()));
    // They have just been started, and have nothing to forget.
    return "redlock://" + hosts + "/" + std::to_string(index) + "?restarted=vote";
  }
  spi::capabilities supports() const override {
    return {.mutex = true, .fence = true, .fifo = true, .raise_token = true};
  }
  bool cross_process() const override { return true; }
  bool notices_death_at_once() const override { return false; }

  bool has_server() const override { return true; }
  void kill_server() override {
    for (auto& server : servers_) server.kill();
  }
  void start_server() override {
    for (auto& server : servers_) server.start();
  }
  void pause_server() override {
    for (auto& server : servers_) server.pause();
  }
  void resume_server() override {
    for (auto& server : servers_) server.resume();
  }

 private:
  std::array<redis_server, 3> servers_;
};

}  // namespace

store_parameter redlock_store() {
  return {"redlock", [] { return std::make_unique<redlock_fixture>(); }};
}

}  // namespace holdfast::testing
