#include <holdfast/testing/etcd_server.hpp>
#include <holdfast/testing/store_fixture.hpp>

namespace holdfast::testing {

namespace {

/// A server per test; namespaces know nothing of each other.
class etcd_fixture final : public store_fixture {
 public:
  std::string url(std::size_t index) const override {
    return server_.url(index == 0 ? "" : "?namespace=store-" + std::to_string(index) + "/");
  }
  spi::capabilities supports() const override { return {true, true, true, true, true, true, true, true, true}; }
  bool cross_process() const override { return true; }
  bool notices_death_at_once() const override { return false; }
  bool passes_over_dead_waiters() const override { return false; }
  int client_library_threads() const override { return 8; }
  bool usable_in_forked_child() const override { return false; }  // gRPC is not

  bool has_server() const override { return true; }
  void kill_server() override { server_.kill(); }
  void start_server() override { server_.start(); }
  void pause_server() override { server_.pause(); }
  void resume_server() override { server_.resume(); }

 private:
  etcd_server server_;
};

}  // namespace

store_parameter etcd_store() {
  return {"etcd", [] { return std::make_unique<etcd_fixture>(); }};
}

}  // namespace holdfast::testing
