#include <holdfast/testing/conformance.hpp>
#include <holdfast/testing/temporary_directory.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

// The holder runs with its wall clock shifted by a preloaded shim; the machine's clock is left alone, and so are the
// monotonic and boot-time clocks, as in a true jump.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

/// The number of seconds a holder's wall clock is off, changeable while it runs.
class wall_shift {
 public:
  wall_shift() { set(0s); }

  void set(std::chrono::seconds offset) const {
    const std::int64_t number = offset.count();
    const int fd = ::open(file().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ::pwrite(fd, &number, sizeof number, 0) != sizeof number) std::perror("wall_shift");
    ::close(fd);
  }
  holder_process::environment environment() const {
    return {{"LD_PRELOAD", beside_this_program("wall_shift.so")},
            {"HOLDFAST_WALL_SHIFT", file().string()},
            // A sanitizer insists on being first in the process; here it may be second.
            {"ASAN_OPTIONS", "verify_asan_link_order=0"}};
  }

 private:
  std::filesystem::path file() const { return directory_.path() / "shift"; }

  temporary_directory directory_;
};

void let_pass(std::chrono::nanoseconds time) {
  const auto start = lease_clock::now();
  ASSERT_TRUE(eventually([&] { return lease_clock::now() - start > time; }));
}

}  // namespace

TEST_P(clock_conformance, a_wall_clock_that_jumps_forward_loses_no_lease) {
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
  const wall_shift shift;
  const std::string name = unique_name("forward");
  holder_process other = start_holder(900ms, shift.environment());
  mutex m(connect(), name);
  other.granted("acquire mutex " + name);
  shift.set(24h);
  let_pass(1500ms);
  EXPECT_EQ(other.ask("valid"), "yes");
  EXPECT_EQ(other.ask("renew"), "ok");
  EXPECT_FALSE(m.try_acquire());
  EXPECT_EQ(other.ask("release"), "ok");
  EXPECT_TRUE(m.try_acquire({.wait = live_timeout}));
}

TEST_P(clock_conformance, a_wall_clock_that_jumps_back_loses_no_lease_and_keeps_none_too_long) {
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
  const wall_shift shift;
  const std::string name = unique_name("back");
  holder_process other = start_holder(900ms, shift.environment());
  mutex m(connect(), name);
  other.granted("acquire mutex " + name);
  shift.set(-24h);
  let_pass(1500ms);
  EXPECT_EQ(other.ask("valid"), "yes");
  EXPECT_FALSE(m.try_acquire());
  other.kill();
  EXPECT_TRUE(m.try_acquire({.wait = 10s}));
}

TEST_P(clock_conformance, a_contender_whose_wall_clock_is_ahead_takes_nothing_before_its_time) {
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
  const wall_shift shift;
  shift.set(24h);
  const std::string name = unique_name("ahead");
  mutex m(connect(), name);
  lease held = m.acquire({.ttl = 20s});
  holder_process other = start_holder(30s, shift.environment());
  EXPECT_EQ(other.ask("try mutex " + name + " wait=300"), "busy");
  EXPECT_TRUE(succeeded(held.renew()));
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_GT(other.granted("acquire mutex " + name), held.token().value());
}

TEST_P(clock_conformance, a_fixed_ttl_ends_on_time_although_the_holders_wall_clock_is_behind) {
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
  const wall_shift shift;
  shift.set(-24h);
  const std::string name = unique_name("behind");
  holder_process other = start_holder(30s, shift.environment());
  const std::uint64_t before = other.granted("acquire mutex " + name + " ttl=400");
  mutex m(connect(), name);
  const auto got = m.try_acquire({.wait = 10s});
  ASSERT_TRUE(got);
  EXPECT_GT(got->token().value(), before);
  EXPECT_EQ(other.ask("valid"), "no");
}

TEST_P(clock_conformance, tokens_increase_although_wall_clocks_disagree) {
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
  const wall_shift shift;
  const std::string name = unique_name("tokens");
  holder_process other = start_holder(30s, shift.environment());
  mutex m(connect(), name);
  std::uint64_t last = 0;
  const std::chrono::seconds jumps[] = {0s, -24h, 24h, -48h, 0s};
  for (const std::chrono::seconds jump : jumps) {
    shift.set(jump);
    const std::uint64_t theirs = other.granted("acquire mutex " + name);
    EXPECT_GT(theirs, last);
    EXPECT_EQ(other.ask("release"), "ok");
    const std::uint64_t ours = m.acquire({.wait = live_timeout}).token().value();
    EXPECT_GT(ours, theirs);
    last = ours;
  }
}

}  // namespace holdfast::testing
