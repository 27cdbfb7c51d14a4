#include <holdfast/holdfast.hpp>
#include <holdfast/testing/etcd_server.hpp>
#include <holdfast/testing/eventually.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

// Destroyed after everything that was made later, what gRPC has of its own included.
std::optional<client> global_client;
std::optional<lease> global_lease;

/// While this goes the client still tries to renew, without gRPC.
struct last_look {
  ~last_look() {
    if (global_lease) static_cast<void>(eventually([] { return global_lease->lost().stop_requested(); }));
  }
};
const last_look global_look;

}  // namespace

TEST(etcd_exit, process_with_globals) {
  const char* const url = std::getenv("HOLDFAST_TEST_URL");
  if (url == nullptr) GTEST_SKIP() << "the next test runs it, in a process of its own";
  global_client = connect(url, {.ttl = 2s});
  global_lease = mutex(*global_client, "m").acquire();
}

TEST(etcd_exit, a_process_ends_although_its_globals_outlive_grpc) {
  const etcd_server server;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "HOLDFAST_TEST_URL=" + server.url() + " timeout -s KILL 30 " + self +
                              " --gtest_filter=etcd_exit.process_with_globals >/dev/null 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_TRUE(mutex(connect(server.url()), "m").try_acquire({.wait = 20s})) << "its ttl frees the lock";
}

}  // namespace holdfast::testing
