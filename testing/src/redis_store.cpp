#include <holdfast/testing/redis_server.hpp>
#include <holdfast/testing/store_fixture.hpp>

namespace holdfast::testing {

namespace {

/// A server per test; its databases know nothing of each other.
class redis_fixture final : public store_fixture {
 public:
  redis_fixture(std::string options, const spi::capabilities& can) : options_(std::move(options)), can_(can) {}

  std::string url(std::size_t index) const override { return server_.url(static_cast<unsigned>(index)) + options_; }
  spi::capabilities supports() const override { return can_; }
  bool cross_process() const override { return true; }
  bool notices_death_at_once() const override { return false; }

  bool has_server() const override { return true; }
  void kill_server() override { server_.kill(); }
  void start_server() override { server_.start(); }
  void pause_server() override { server_.pause(); }
  void resume_server() override { server_.resume(); }

 private:
  const std::string options_;
  const spi::capabilities can_;
  redis_server server_;
};

constexpr spi::capabilities everything{.mutex = true,
                                       .shared_mutex = true,
                                       .permits = true,
                                       .semaphore = true,
                                       .latch = true,
                                       .cell = true,
                                       .fence = true,
                                       .fifo = true,
                                       .raise_token = true};
constexpr spi::capabilities one_key{.mutex = true, .cell = true, .fence = true, .raise_token = true};

}  // namespace

store_parameter redis_store() {
  return {"redis", [] { return std::make_unique<redis_fixture>("", everything); }};
}

store_parameter redis_plain_store() {
  return {"redis_plain", [] { return std::make_unique<redis_fixture>("?layout=plain&prefix=lock:", one_key); }};
}

}  // namespace holdfast::testing
