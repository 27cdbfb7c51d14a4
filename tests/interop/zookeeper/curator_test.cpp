#include "curator_test.hpp"

#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/scale.hpp>
#include <holdfast/testing/shared_counter.hpp>
#include <holdfast/testing/temporary_directory.hpp>

#include <algorithm>
#include <mutex>
#include <vector>

// Curator's recipes and ours on one path.

namespace holdfast::testing {

using namespace std::chrono_literals;

class curator : public zookeeper_interop, public ::testing::WithParamInterface<std::string> {
 protected:
  std::shared_ptr<foreign_peer> start_java(std::chrono::milliseconds session = 20s) const {
    const std::string folder = HOLDFAST_PEERS "/" + GetParam();
    // Quick to start rather than quick in the long run.
    return std::make_shared<foreign_peer>(std::vector<std::string>{
        "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx96m", "-cp",
        folder + "/classes:" + folder + "/jars/*", "Peer", server_.address(), std::to_string(session.count())});
  }
  std::shared_ptr<foreign_peer> java() {
    if (!java_) java_ = start_java();
    return java_;
  }
  contender theirs(const std::string& kind, const std::string& thread = "main") {
    const std::string of = kind == "permit" ? " of=2" : "";
    return {
        java(), thread, {.acquire = "acquire " + kind + " /shop/my" + of, .release = "release " + kind + " /shop/my"}};
  }

  /// Each waits for the other, and is woken.
  void expect_exclusion(contender one, contender other) {
    for (int round = 0; round < 3; ++round) {
      one.acquire();
      other.want();
      ASSERT_TRUE(waiting(1));
      EXPECT_FALSE(other.reply_within(short_wait)) << "both are in";
      one.release();
      other.got();
      one.want();
      ASSERT_TRUE(waiting(1));
      EXPECT_FALSE(one.reply_within(short_wait)) << "both are in";
      other.release();
      one.got();
      one.release();
    }
  }

  std::shared_ptr<foreign_peer> java_;
};

TEST_P(curator, a_mutex_excludes_both_ways_and_wakes_both) {
  expect_exclusion(our_contender("mutex"), theirs("mutex"));
}

TEST_P(curator, writers_exclude_both_ways_and_wake_both) {
  expect_exclusion(our_contender("shared_mutex"), theirs("write"));
}

TEST_P(curator, a_writer_of_theirs_and_a_reader_of_ours_exclude_each_other) {
  expect_exclusion(our_contender("reader"), theirs("write"));
}

TEST_P(curator, a_writer_of_ours_and_a_reader_of_theirs_exclude_each_other) {
  expect_exclusion(our_contender("shared_mutex"), theirs("read"));
}

TEST_P(curator, readers_of_both_sides_are_in_together) {
  contender us = our_contender("reader");
  contender them = theirs("read");
  us.acquire();
  them.acquire();
  EXPECT_FALSE(shared_mutex(ours(), "shop/my").try_acquire());
  us.release();
  EXPECT_EQ(theirs("write", "writer").ask("acquire write /shop/my wait=100"), "busy");
  them.release();
  EXPECT_TRUE(shared_mutex(ours(), "shop/my").try_acquire({.wait = live_timeout}));
}

TEST_P(curator, both_sides_get_it_in_the_order_they_came) {
  contender holder = our_contender("mutex");
  holder.acquire();
  std::vector<contender> line;
  for (int i = 0; i < 3; ++i) {
    line.push_back(theirs("mutex", "waiter" + std::to_string(i)));
    line.back().want();
    ASSERT_TRUE(waiting(line.size()));
    line.push_back(our_contender("mutex"));
    line.back().want();
    ASSERT_TRUE(waiting(line.size()));
  }
  holder.release();
  for (std::size_t i = 0; i < line.size(); ++i) {
    line[i].got();
    for (std::size_t j = i + 1; j < line.size(); ++j) EXPECT_FALSE(line[j].reply_within({})) << j << " before " << i;
    line[i].release();
  }
}

TEST_P(curator, together_there_are_no_more_permits_than_there_are) {
  const spelling two{.acquire = "acquire permits shop/my of=2", .release = "release"};
  contender us(holder_process::connected(server_.url(), 20s), two);
  contender also(holder_process::connected(server_.url(), 20s), two);
  contender them = theirs("permit");
  us.acquire();
  them.acquire();
  EXPECT_EQ(theirs("permit", "other").ask("acquire permit /shop/my of=2 wait=200"), "busy");
  also.want();
  ASSERT_TRUE(waiting(1));
  EXPECT_FALSE(also.reply_within(short_wait));
  them.release();
  also.got();
  them.want();
  ASSERT_TRUE(waiting(1));
  EXPECT_FALSE(them.reply_within(short_wait));
  us.release();
  them.got();
  them.release();
  also.release();
}

TEST_P(curator, with_a_mutex_no_increment_is_lost) {
  const temporary_directory directory;
  const std::string file = (directory.path() / "counter").string();
  const shared_counter counter(file);
  const std::string rest = std::to_string(scaled(100)) + " counter=" + file;
  std::vector<contender> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(theirs("mutex", "thread" + std::to_string(i)));
    all.back().tell("count mutex /shop/my " + rest);
    all.push_back(our_contender("mutex"));
    all.back().tell("count mutex shop/my " + rest);
  }
  for (auto& one : all) EXPECT_EQ(one.reply(100s), "counted " + std::to_string(scaled(100)));
  EXPECT_EQ(counter.value(), 6 * scaled(100));
}

TEST_P(curator, a_killed_service_of_theirs_frees_it_when_its_session_ends_and_not_before) {
  java_ = start_java(2s);
  contender them = theirs("mutex");
  contender us = our_contender("mutex");
  them.acquire();
  us.want();
  ASSERT_TRUE(waiting(1));
  them.kill();
  EXPECT_FALSE(us.reply_within(500ms));
  us.got();
  us.release();
}

TEST_P(curator, a_killed_process_of_ours_frees_it_when_its_session_ends) {
  contender us = our_contender("mutex", 2s);
  contender them = theirs("mutex");
  us.acquire();
  them.want();
  ASSERT_TRUE(waiting(1));
  us.kill();
  them.got();
  them.release();
}

TEST_P(curator, a_downgraded_writer_of_ours_keeps_their_writer_out) {
  shared_mutex m(ours(), "shop/my");
  lease held = m.acquire();
  contender writer = theirs("write", "writer");
  writer.want();
  ASSERT_TRUE(waiting(1));
  ASSERT_TRUE(succeeded(held.downgrade()));
  EXPECT_FALSE(writer.reply_within(300ms)) << "a writer came in beside a reader";
  ASSERT_TRUE(succeeded(held.release()));
  writer.got();
  writer.release();
}

TEST_P(curator, a_downgraded_writer_of_theirs_keeps_our_writer_out_since_5_5) {
  contender them = theirs("write", "both");
  them.acquire();
  shared_mutex m(ours(), "shop/my");
  auto waits = m.async_acquire();
  ASSERT_TRUE(waiting(1));
  EXPECT_EQ(them.ask("acquire read /shop/my"), "granted");
  EXPECT_EQ(them.ask("release write /shop/my"), "ok");
  // Before 5.5 theirs stands as a reader behind the writers that came before it was downgraded.
  const bool keeps_out = GetParam() != "5.4.0";
  EXPECT_EQ(!eventually([&] { return waits.ready(); }, keeps_out ? 300ms : live_timeout), keeps_out);
  EXPECT_EQ(them.ask("release read /shop/my"), "ok");
  EXPECT_TRUE(waits.get().valid());
}

TEST_P(curator, their_request_for_our_lock_is_told) {
  client c = ours();
  std::mutex guard;
  std::vector<event> asked;
  c.on_event([&](const event& e) {
    const std::lock_guard lock(guard);
    if (e.what == event::kind::asked_for) asked.push_back(e);
  });
  mutex m(c, "shop/my");
  const lease held = m.acquire();
  EXPECT_EQ(theirs("mutex", "asks").ask("revoke /shop/my"), "ok");
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(guard);
    return !asked.empty();
  }));
  const std::lock_guard lock(guard);
  EXPECT_EQ(asked[0].name, "shop/my");
  EXPECT_EQ(asked[0].token, held.token());
  EXPECT_TRUE(held.valid()) << "only its holder gives it up";
}

TEST_P(curator, each_side_sees_what_the_other_holds_and_evicting_works) {
  contender them = theirs("mutex");
  them.acquire();
  client c = ours();
  const auto seen = c.inspect("shop/my");
  ASSERT_EQ(seen.size(), 1u);
  ASSERT_EQ(seen[0].holders.size(), 1u);
  EXPECT_FALSE(seen[0].holders[0].host.empty()) << "Curator says its address";
  EXPECT_TRUE(c.evict("shop/my"));
  EXPECT_TRUE(mutex(c, "shop/my").try_acquire({.wait = live_timeout}));
}

TEST_P(curator, a_lock_that_they_use_otherwise_is_refused) {
  contender them = theirs("write");
  them.acquire();
  EXPECT_TRUE(throws(errc::rejected, [&] { return mutex(ours(), "shop/my").try_acquire(); }));
  them.release();
}

INSTANTIATE_TEST_SUITE_P(release, curator, ::testing::Values(HOLDFAST_CURATOR_VERSIONS), [](const auto& test) {
  std::string label = test.param;
  std::replace(label.begin(), label.end(), '.', '_');
  return label;
});

}  // namespace holdfast::testing
