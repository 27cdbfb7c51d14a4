#include "raw_zookeeper.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/store_fixture.hpp>
#include <holdfast/testing/zookeeper_server.hpp>

#include <gtest/gtest.h>

#include <mutex>
#include <optional>
#include <regex>
#include <vector>

// What stands in the store, as Curator would read and write it.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

const std::regex lock_node("_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-lock-[0-9]{10}");
const std::regex lease_node("_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-lease-[0-9]{10}");

bool is(const std::string& text, const std::regex& pattern) { return std::regex_match(text, pattern); }

class zookeeper_layout : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return root_ + "/" + name; }
  client connect(client_options options = {}) const {
    return holdfast::connect("zk://" + server_ + root_, std::move(options));
  }
  /// A contender of somebody else's in the line of `name`.
  std::string put(const std::string& name, const std::string& stem) const {
    raw_.create(root_);
    raw_.create(path(name));
    return raw_.create(path(name) + "/" + stem, "10.0.0.7", raw_zookeeper::kind::ephemeral_sequential);
  }
  static std::string stem(char who, const std::string& mark) {
    return "_c_" + std::string(8, who) + "-0000-4000-8000-000000000000-" + mark;
  }

  const std::string server_ = shared_zookeeper();
  const std::string root_ = "/" + unique_name("layout");
  const raw_zookeeper raw_{server_};
};

}  // namespace

TEST_F(zookeeper_layout, a_held_mutex_is_an_ephemeral_node_of_curators_and_the_token_its_czxid) {
  mutex m(connect(), "orders/42");
  const lease held = m.acquire();
  const auto nodes = raw_.children(path("orders/42"));
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_TRUE(is(nodes[0], lock_node)) << nodes[0];
  const auto node = raw_.get(path("orders/42/") + nodes[0]);
  EXPECT_NE(node.owner, 0);
  EXPECT_EQ(held.token().value(), static_cast<std::uint64_t>(node.created));
  EXPECT_EQ(raw_.get(path("orders/42")).data, "");
}

TEST_F(zookeeper_layout, readers_writers_and_permits_are_curators_too) {
  const client c = connect();
  shared_mutex m(c, "rw");
  {
    const lease reader = m.acquire_shared();
    EXPECT_NE(raw_.children(path("rw")).at(0).find("-__READ__0000000000"), std::string::npos);
  }
  {
    const lease writer = m.acquire({.wait = live_timeout});
    EXPECT_NE(raw_.children(path("rw")).at(0).find("-__WRIT__0000000001"), std::string::npos);
  }
  permit_semaphore s(c, "sem", 3);
  const lease two = s.acquire({}, {}, 2);
  const auto leases = raw_.children(path("sem/leases"));
  ASSERT_EQ(leases.size(), 2u);
  for (const auto& one : leases) EXPECT_TRUE(is(one, lease_node)) << one;
  EXPECT_TRUE(raw_.children(path("sem/locks")).empty()) << "the guard is only held on the way in";
}

TEST_F(zookeeper_layout, a_downgraded_writer_keeps_its_number_and_its_token) {
  shared_mutex m(connect(), "rw");
  lease held = m.acquire();
  const auto token = held.token();
  ASSERT_TRUE(succeeded(held.downgrade()));
  const auto nodes = raw_.children(path("rw"));
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_NE(nodes[0].find("-__READ__0000000000"), std::string::npos) << nodes[0];
  EXPECT_EQ(held.token(), token);
}

TEST_F(zookeeper_layout, somebody_elses_node_before_ours_is_waited_for) {
  const std::string theirs = put("m", stem('f', "lock-"));
  mutex m(connect(), "m");
  EXPECT_FALSE(m.try_acquire());
  auto waits = m.async_acquire();
  ASSERT_TRUE(eventually([&] { return raw_.children(path("m")).size() == 2; }));
  EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
  ASSERT_TRUE(raw_.remove(theirs));
  EXPECT_TRUE(waits.get().valid());
}

TEST_F(zookeeper_layout, other_peoples_locks_that_would_not_exclude_ours_are_refused_by_name) {
  const client c = connect();
  for (const std::string mark : {"0123456789abcdef0123456789abcdef__lock__", "x-123-"}) {
    const std::string name = "mixed-" + std::to_string(mark.size());
    put(name, mark);
    EXPECT_TRUE(throws(errc::rejected, [&] { return mutex(c, name).try_acquire(); })) << mark;
    EXPECT_EQ(raw_.children(path(name)).size(), 1u) << "nothing of ours is left";
  }
  put("leader", stem('a', "latch-"));
  EXPECT_NE(error_text([&] { return mutex(c, "leader").try_acquire(); }).find("leader latch"), std::string::npos);
}

TEST_F(zookeeper_layout, our_node_removed_while_held_is_a_loss_told_at_once) {
  mutex m(connect(), "m");
  const lease held = m.acquire();
  ASSERT_TRUE(raw_.remove(path("m/") + raw_.children(path("m")).at(0)));
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 5s)) << "long before a renewal looks";
  EXPECT_EQ(held.loss_cause(), loss::taken);
}

TEST_F(zookeeper_layout, our_node_removed_while_it_waits_gets_in_line_again) {
  const std::string theirs = put("m", stem('f', "lock-"));
  mutex m(connect(), "m");
  auto waits = m.async_acquire();
  ASSERT_TRUE(eventually([&] { return raw_.children(path("m")).size() == 2; }));
  ASSERT_TRUE(raw_.remove(path("m/") + raw_.children(path("m")).at(1)));
  ASSERT_TRUE(eventually([&] { return raw_.children(path("m")).size() == 2; }));
  ASSERT_TRUE(raw_.remove(theirs));
  EXPECT_TRUE(waits.get().valid());
}

TEST_F(zookeeper_layout, a_parent_that_was_removed_comes_back_and_tokens_go_on) {
  mutex m(connect(), "m");
  fencing_token last = 0;
  for (int i = 0; i < 3; ++i) {
    {
      const lease held = m.acquire();
      EXPECT_GT(held.token(), last);
      last = held.token();
    }
    ASSERT_TRUE(raw_.remove(path("m")));
  }
}

TEST_F(zookeeper_layout, a_request_for_revocation_is_told) {
  std::mutex guard;
  std::vector<std::string> lines;
  mutex m(connect({.log =
                       [&](log_level, std::string_view line) {
                         const std::lock_guard lock(guard);
                         lines.emplace_back(line);
                       }}),
          "m");
  const lease held = m.acquire();
  const auto asked = [&] {
    const std::lock_guard lock(guard);
    return std::any_of(lines.begin(), lines.end(), [](const auto& l) { return l.find("'m'") != l.npos; });
  };
  const std::string node = path("m/") + raw_.children(path("m")).at(0);
  raw_.set(node, "please");
  EXPECT_FALSE(eventually(asked, 300ms));
  raw_.set(node, "__REVOKE__");
  EXPECT_TRUE(eventually(asked));
  EXPECT_TRUE(held.valid()) << "it is a request";
}

TEST_F(zookeeper_layout, a_lock_waits_behind_a_curator_semaphore_guard_and_counts_its_leases) {
  raw_.create(root_);
  raw_.create(path("sem"));
  raw_.create(path("sem/locks"));
  raw_.create(path("sem/leases"));
  const auto guard =
      raw_.create(path("sem/locks/") + stem('a', "lock-"), "10.0.0.7", raw_zookeeper::kind::ephemeral_sequential);
  permit_semaphore s(connect(), "sem", 2);
  auto waits = s.async_acquire({}, {}, 2);
  ASSERT_TRUE(eventually([&] { return raw_.children(path("sem/locks")).size() == 2; }));
  const auto lease_of_theirs =
      raw_.create(path("sem/leases/") + stem('a', "lease-"), "10.0.0.7", raw_zookeeper::kind::ephemeral_sequential);
  raw_.remove(guard);
  EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
  raw_.remove(lease_of_theirs);
  EXPECT_TRUE(waits.get().valid());
}

TEST_F(zookeeper_layout, nodes_that_only_their_creator_may_touch) {
  const std::string url = "zk://me:secret@" + server_ + root_ + "x?acl=creator";
  mutex m(holdfast::connect(url), "m");
  mutex other(holdfast::connect(url), "m");
  const lease held = m.acquire();
  EXPECT_FALSE(other.try_acquire());
  EXPECT_TRUE(raw_.children(root_ + "x/m").empty()) << "others may not read it";
  mutex stranger(holdfast::connect("zk://you:secret@" + server_ + root_ + "x"), "m");
  EXPECT_TRUE(throws(errc::rejected, [&] { return stranger.try_acquire(); }));
  mutex shown(holdfast::connect("zk://me:secret@" + server_ + root_ + "y?acl=creator-read"), "m");
  const lease readable = shown.acquire();
  EXPECT_EQ(raw_.children(root_ + "y/m").size(), 1u);
}

TEST_F(zookeeper_layout, the_server_is_examined) {
  const auto all = connect({.ttl = 20s}).examine();
  const auto says = [&](const std::string& what) {
    return std::any_of(all.begin(), all.end(), [&](const finding& f) { return f.text.find(what) != f.text.npos; });
  };
  EXPECT_TRUE(says("version 3."));
  EXPECT_TRUE(says("a single server"));
  EXPECT_TRUE(says("session timeout 20000 ms"));
  EXPECT_TRUE(says("a write took"));
}

}  // namespace holdfast::testing
