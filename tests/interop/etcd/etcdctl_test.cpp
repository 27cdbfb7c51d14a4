#include <holdfast/holdfast.hpp>
#include <holdfast/testing/etcd_server.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/holder_process.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <sstream>

// `etcdctl lock` beside ours.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

class etcdctl_lock : public ::testing::Test {
 protected:
  /// Prints its key when it has the lock, and holds it until it is told to end.
  holder_process theirs() const {
    return holder_process({"etcdctl", "--endpoints=" + server_.hosts(), "lock", "my"}, {{"ETCDCTL_API", "3"}});
  }
  std::size_t keys() const {
    std::istringstream lines(server_.etcdctl("get --prefix --keys-only my/"));
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line);) count += line.empty() ? 0 : 1;
    return count;
  }
  bool in_line(std::size_t n) const {
    return eventually([&] { return keys() == n; });
  }

  etcd_server server_;
  client client_ = connect(server_.url());
  mutex ours_{client_, "my"};
};

}  // namespace

TEST_F(etcdctl_lock, we_wait_for_theirs) {
  holder_process other = theirs();
  EXPECT_TRUE(other.reply().starts_with("my/"));
  EXPECT_FALSE(ours_.try_acquire());
  auto waits = ours_.async_acquire();
  ASSERT_TRUE(in_line(2));
  EXPECT_FALSE(waits.ready());
  ::kill(other.pid(), SIGTERM);
  EXPECT_TRUE(waits.get().valid());
}

TEST_F(etcdctl_lock, they_wait_for_ours) {
  lease held = ours_.acquire();
  holder_process other = theirs();
  ASSERT_TRUE(in_line(2));
  EXPECT_FALSE(other.reply_within(short_wait));
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(other.reply().starts_with("my/"));
  EXPECT_FALSE(ours_.try_acquire());
}

TEST_F(etcdctl_lock, all_are_served_in_the_order_of_coming) {
  lease held = ours_.acquire();
  holder_process second = theirs();
  ASSERT_TRUE(in_line(2));
  mutex next(connect(server_.url()), "my");
  auto third = next.async_acquire();
  ASSERT_TRUE(in_line(3));
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(second.reply().starts_with("my/"));
  EXPECT_FALSE(third.ready());
  ::kill(second.pid(), SIGTERM);
  EXPECT_GT(third.get().token(), held.token());
}

TEST_F(etcdctl_lock, what_it_runs_sees_a_key_like_ours_and_a_revision_above_our_token) {
  fencing_token before;
  {
    const lease held = ours_.acquire();
    before = held.token();
  }
  const std::string said = server_.etcdctl("lock my -- sh -c 'echo $ETCD_LOCK_KEY $ETCD_LOCK_REV'");
  std::istringstream words(said);
  std::string key;
  std::uint64_t revision = 0;
  ASSERT_TRUE(words >> key >> revision) << said;
  EXPECT_TRUE(key.starts_with("my/"));
  EXPECT_GT(revision, before.value());
  EXPECT_GT(ours_.acquire({.wait = live_timeout}).token().value(), revision);
}

TEST_F(etcdctl_lock, its_exit_status_tells_of_the_command) {
  EXPECT_NO_THROW(server_.etcdctl("lock my true"));
  EXPECT_THROW(server_.etcdctl("lock my false"), std::runtime_error);
  EXPECT_TRUE(ours_.try_acquire({.wait = live_timeout})) << "whatever became of it";
}

TEST_F(etcdctl_lock, inspect_shows_theirs_and_evicting_takes_it) {
  holder_process other = theirs();
  EXPECT_TRUE(other.reply().starts_with("my/"));
  const auto all = client_.inspect("");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "my");
  EXPECT_EQ(all[0].kind, "mutex");
  ASSERT_EQ(all[0].holders.size(), 1u);
  EXPECT_GT(all[0].holders[0].remaining, 0s);
  EXPECT_TRUE(client_.evict("my"));
  EXPECT_TRUE(ours_.try_acquire());
}

TEST_F(etcdctl_lock, when_it_is_killed_we_get_in_after_its_ttl) {
  holder_process other({"etcdctl", "--endpoints=" + server_.hosts(), "lock", "--ttl", "2", "my"},
                       {{"ETCDCTL_API", "3"}});
  EXPECT_TRUE(other.reply().starts_with("my/"));
  auto waits = ours_.async_acquire();
  other.kill();
  EXPECT_TRUE(waits.get().valid());
}

}  // namespace holdfast::testing
