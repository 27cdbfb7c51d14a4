#include <holdfast/testing/holder_process.hpp>
#include <holdfast/testing/store_fixture.hpp>
#include <holdfast/testing/zookeeper_server.hpp>

#include <signal.h>
#include <sys/types.h>

#include <fstream>

namespace holdfast::testing {

namespace {

/// The server of this run of ctest, as zookeeper_keeper wrote it down; empty: there is none.
std::string server_of_this_run() {
  std::ifstream file(beside_this_program("zookeeper.server"));
  pid_t keeper = 0;
  std::string address;
  if (!(file >> keeper >> address) || ::kill(keeper, 0) != 0) return {};
  return address;
}

class zookeeper_fixture final : public store_fixture {
 public:
  std::string url(std::size_t index) const override {
    return "zk://" + server_ + "/" + root_ + "-" + std::to_string(index);
  }
  spi::capabilities supports() const override {
    return {.mutex = true,
            .shared_mutex = true,
            .permits = true,
            .semaphore = true,
            .latch = true,
            .cell = true,
            .fence = true,
            .fifo = true};
  }
  bool cross_process() const override { return true; }
  bool notices_death_at_once() const override { return false; }
  bool passes_over_dead_waiters() const override { return false; }
  // The client library's threads may hold a lock of the C library's at that moment.
  bool usable_in_forked_child() const override { return false; }

 private:
  const std::string server_ = shared_zookeeper();
  const std::string root_ = unique_name("test");
};

}  // namespace

std::string shared_zookeeper() {
  if (auto address = server_of_this_run(); !address.empty()) return address;
  static const zookeeper_server own;
  return own.address();
}

store_parameter zookeeper_store() {
  return {"zookeeper", [] { return std::make_unique<zookeeper_fixture>(); }};
}

}  // namespace holdfast::testing
