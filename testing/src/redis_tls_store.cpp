#include <holdfast/testing/redis_tls_server.hpp>
#include <holdfast/testing/store_fixture.hpp>

namespace holdfast::testing {

namespace {

/// As redis_store(), spoken to by TLS.
class redis_tls_fixture final : public store_fixture {
 public:
  std::string url(std::size_t index) const override { return server_.url(static_cast<unsigned>(index)); }
  spi::capabilities supports() const override { return {true, true, true, true, true, true, true, true, true}; }
  bool cross_process() const override { return true; }
  bool notices_death_at_once() const override { return false; }

  bool has_server() const override { return true; }
  void kill_server() override { server_.server().kill(); }
  void start_server() override { server_.server().start(); }
  void pause_server() override { server_.server().pause(); }
  void resume_server() override { server_.server().resume(); }

 private:
  redis_tls_server server_;
};

}  // namespace

store_parameter redis_tls_store() {
  return {"redis_tls", [] { return std::make_unique<redis_tls_fixture>(); }};
}

}  // namespace holdfast::testing
