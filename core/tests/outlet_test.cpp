#include "outlet.hpp"

#include "support/rig.hpp"

#include <holdfast/recursive_mutex.hpp>

#include <atomic>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {

TEST(outlet, says_nothing_once_it_is_shut) {
  std::vector<std::string> said;
  detail::outlet out([&](log_level, std::string_view line) { said.emplace_back(line); });
  out.log(log_level::info, "before");
  out.shut();
  out.log(log_level::info, "after");
  out.say([&] { said.emplace_back("after"); });
  EXPECT_EQ(said, std::vector<std::string>{"before"});
}

TEST(outlet, is_shut_only_when_what_is_being_said_has_been_said) {
  std::promise<void> speaking;
  std::promise<void> go_on;
  std::atomic<bool> said{false};
  detail::outlet out([&](log_level, std::string_view) {
    speaking.set_value();
    go_on.get_future().wait();
    said = true;
  });
  std::thread speaker([&] { out.log(log_level::info, "long"); });
  speaking.get_future().wait();
  auto shut = std::async(std::launch::async, [&] {
    out.shut();
    return said.load();
  });
  EXPECT_EQ(shut.wait_for(50ms), std::future_status::timeout);
  go_on.set_value();
  EXPECT_TRUE(shut.get());
  speaker.join();
}

TEST(outlet, may_be_shut_by_the_one_who_is_speaking) {
  detail::outlet other(nullptr);
  detail::outlet out(nullptr);
  bool done = false;
  out.say([&] {
    other.say([&] {
      out.say([&] {
        out.shut();
        done = true;
      });
    });
  });
  EXPECT_TRUE(done);
}

TEST(outlet, stays_usable_after_a_callback_that_throws) {
  std::vector<std::string> said;
  detail::outlet out([&](log_level, std::string_view line) {
    said.emplace_back(line);
    throw std::runtime_error("a logger that throws");
  });
  out.log(log_level::info, "one");
  out.log(log_level::info, "two");
  EXPECT_THROW(out.say([] { throw std::runtime_error("said"); }), std::runtime_error);
  out.shut();
  EXPECT_EQ(said, (std::vector<std::string>{"one", "two"}));
}

// The engine lives on for the lease, and what befalls the lease is the lease's to tell.
TEST(outlet, ends_the_log_and_the_events_with_the_last_client_and_lock_object) {
  std::vector<std::string> heard;
  rig r({.log = [&](log_level, std::string_view line) { heard.emplace_back(line); }});
  r.user->on_event([&](const event& e) { heard.emplace_back(to_string(e.what)); });
  const auto held = r.ask("held");
  ASSERT_TRUE(held->granted());
  r.callbacks->run();
  const auto before = heard.size();
  EXPECT_GT(before, 0u);
  {
    const mutex last(r.connected(), "last");
    r.user.reset();
    r.engine->log(log_level::info, "a lock object is still there");
    EXPECT_EQ(heard.size(), before + 1);
  }
  r.engine->lost(r.store->enter.calls()[0].claim.id, loss::taken);
  r.engine->log(log_level::info, "nobody is there");
  r.callbacks->run();
  EXPECT_FALSE(held->held->valid());
  EXPECT_EQ(heard.size(), before + 1);
}

TEST(outlet, ends_with_a_recursive_mutex_although_its_lease_lives) {
  std::vector<std::string> heard;
  rig r({.log = [&](log_level, std::string_view line) { heard.emplace_back(line); }});
  std::optional<recursive_mutex> last(std::in_place, r.connected(), "last");
  const lease held = last->acquire();
  r.user.reset();
  last.reset();
  r.engine->log(log_level::info, "nobody is there");
  EXPECT_TRUE(heard.empty());
  EXPECT_TRUE(held.valid());
}

}  // namespace holdfast::testing
