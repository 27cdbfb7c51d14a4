#include <holdfast/testing/redis_server.hpp>
#include <holdfast/testing/store_fixture.hpp>

namespace holdfast::testing {

namespace {

/// A server per test; its databases know nothing of each other.
class redis_fixture final : public store_fixture {
 public:
  std::string url(std::size_t index) const override { return server_.url(static_cast<unsigned>(index)); }
  spi::capabilities supports() const override {
    return {.mutex = true,
            .shared_mutex = true,
            .permits = true,
            .semaphore = true,
            .latch = true,
            .cell = true,
            .fence = true,
            .fifo = true,
            .raise_token = true};
  }
  bool cross_process() const override { return true; }
  bool notices_death_at_once() const override { return false; }

  bool has_server() const override { return true; }
  void kill_server() override { server_.kill(); }
  void start_server() override { server_.start(); }
  void pause_server() override { server_.pause(); }
  void resume_server() override { server_.resume(); }

 private:
  redis_server server_;
};

}  // namespace

store_parameter redis_store() {
  return {"redis", [] { return std::make_unique<redis_fixture>(); }};
}

}  // namespace holdfast::testing
