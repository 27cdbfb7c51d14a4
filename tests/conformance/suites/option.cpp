#include <holdfast/testing/conformance.hpp>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

struct bad_options {
  const char* why;
  acquire_options options;
};

const bad_options refused[] = {
    {"a ttl of nothing", {.ttl = 0s}},
    {"a negative ttl", {.ttl = -1s}},
    {"a ttl below ten milliseconds", {.ttl = 9ms}},
    {"a ttl of a year", {.ttl = 24h * 365}},
    {"a ttl beyond all measure", {.ttl = std::chrono::hours::max()}},
    {"a negative wait", {.wait = -1ms}},
    {"the most negative wait", {.wait = std::chrono::hours::min()}},
};

}  // namespace

TEST_P(option_conformance, malformed_options_are_refused_and_leave_nothing) {
  const client c = connect();
  const std::string name = unique_name("malformed");
  auto lock = make(c, name);
  for (const auto& [why, options] : refused) {
    SCOPED_TRACE(why);
    EXPECT_TRUE(throws(errc::invalid_argument, [&, how = options] { return lock->acquire(how); }));
    EXPECT_TRUE(throws(errc::invalid_argument, [&, how = options] { return lock->try_acquire(how); }));
  }
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(option_conformance, malformed_options_of_an_async_acquire_are_its_outcome) {
  auto lock = make(connect(), unique_name("malformed-async"));
  for (const auto& [why, options] : refused) {
    SCOPED_TRACE(why);
    std::optional<operation<lease>> started;
    ASSERT_NO_THROW(started.emplace(lock->async_acquire(options)));
    EXPECT_TRUE(throws(errc::invalid_argument, [&] { return started->get(); }));
  }
}

TEST_P(option_conformance, malformed_options_are_refused_also_while_another_holds_the_lock) {
  const std::string name = unique_name("malformed-busy");
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  const lease held = ours->acquire();
  for (const auto& [why, options] : refused) {
    SCOPED_TRACE(why);
    EXPECT_TRUE(throws(errc::invalid_argument, [&, how = options] { return theirs->try_acquire(how); }));
  }
}

TEST_P(option_conformance, the_shortest_and_the_longest_ttl_are_granted) {
  const client c = connect();
  const std::string name = unique_name("limits");
  auto lock = make(c, name);
  {
    const lease brief = lock->acquire({.ttl = 10ms});
    EXPECT_LE(brief.remaining(), 10ms);
  }
  lease lasting = lock->acquire({.wait = live_timeout, .ttl = 24h * 30});
  EXPECT_TRUE(lasting.valid());
  EXPECT_GT(lasting.remaining(), 24h * 29);
  EXPECT_TRUE(succeeded(lasting.release()));
}

}  // namespace holdfast::testing
