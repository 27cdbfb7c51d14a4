#include "cluster.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/loopback.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

// A Redis Cluster on a good day: who is connected to, where names go, what a slot on its way does.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

std::string without_seeds(const redis_cluster& nodes) {
  const std::string url = nodes.url();
  return url.substr(url.rfind(',') + 1);
}

}  // namespace

TEST(cluster_connect, one_seed_of_many_is_enough) {
  const redis_cluster& nodes = the_cluster();
  const std::string dead = "redis+cluster://127.0.0.1:" + std::to_string(free_port());
  mutex m(connect(dead + "," + without_seeds(nodes)), "m");
  EXPECT_TRUE(m.try_acquire());
  EXPECT_TRUE(throws(errc::unavailable, [&] { return connect(dead, {.connect_timeout = 2s}); }));
}

TEST(cluster_connect, a_single_server_is_refused_with_advice) {
  const redis_server server;
  const std::string url = "redis+cluster://127.0.0.1:" + std::to_string(server.port());
  EXPECT_TRUE(throws(errc::unsupported, [&] { return connect(url); }));
  const std::string text = error_text([&] { return connect(url); });
  EXPECT_NE(text.find("write redis://127.0.0.1:"), std::string::npos) << text;
}

TEST(cluster_connect, a_cluster_with_slots_that_nobody_serves_is_refused) {
  const redis_server server({"--cluster-enabled", "yes", "--cluster-port", std::to_string(free_port())});
  server.command({"CLUSTER", "ADDSLOTSRANGE", "0", "9999"});
  const std::string url = "redis+cluster://127.0.0.1:" + std::to_string(server.port());
  EXPECT_TRUE(throws(errc::unavailable, [&] { return connect(url); }));
  const std::string text = error_text([&] { return connect(url); });
  EXPECT_NE(text.find("10000 to 16383"), std::string::npos) << text;
}

TEST(cluster_connect, the_password_goes_to_every_node) {
  const redis_server server({"--cluster-enabled", "yes", "--cluster-port", std::to_string(free_port())});
  server.command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
  server.command({"CONFIG", "SET", "requirepass", "secret"});
  const std::string node = "127.0.0.1:" + std::to_string(server.port());
  mutex m(connect("redis+cluster://:secret@" + node), "m");
  EXPECT_TRUE(m.try_acquire({.wait = live_timeout}));
  EXPECT_TRUE(throws(errc::rejected, [&] { return connect("redis+cluster://:wrong@" + node); }));
  EXPECT_TRUE(throws(errc::rejected, [&] { return connect("redis+cluster://" + node); }));
}

TEST(cluster_names, those_that_would_be_torn_apart_are_refused) {
  const client c = connect(the_cluster().url());
  for (const char* name : {"a{b", "a}b", "{}x", "a{}b{c}"}) {
    EXPECT_TRUE(throws(errc::invalid_argument, [&] { return mutex(c, name).try_acquire(); })) << name;
    EXPECT_TRUE(throws(errc::invalid_argument, [&] { return counting_semaphore(c, name).try_set_permits(1); })) << name;
    EXPECT_TRUE(throws(errc::invalid_argument, [&] { return cell(c, name).load(); })) << name;
  }
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { return latch(c, "{t}x").try_set_count(1); }));
  EXPECT_TRUE(mutex(c, "{t}x").try_acquire());
  // On a single server every name is as good.
  const redis_server server;
  EXPECT_TRUE(mutex(connect(server.url()), "a{b").try_acquire());
}

TEST(cluster_names, no_name_that_is_taken_crosses_slots) {
  const client c = connect(the_cluster().url());
  std::mt19937 random(11);
  const auto pick = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  std::size_t taken = 0;
  for (int i = 0; i < 2'000; ++i) {
    std::string name;
    for (std::size_t left = 1 + pick(10); left != 0; --left) name += "abc{}x:{}"[pick(9)];
    SCOPED_TRACE(name);
    try {
      switch (i % 4) {
        case 0:
          EXPECT_TRUE(mutex(c, name, {.order = ordering::fifo}).try_acquire());
          break;
        case 1:
          EXPECT_TRUE(shared_mutex(c, name).try_acquire_shared());
          break;
        case 2:
          EXPECT_TRUE(permit_semaphore(c, name, 2).try_acquire());
          break;
        default:
          (void)cell(c, name).compare_exchange(0, "v");  // the name may have come before
          EXPECT_TRUE(fence(c, name).admit(3 + static_cast<std::uint64_t>(i)));
      }
      ++taken;
    } catch (const error& e) {
      ASSERT_EQ(e.code(), errc::invalid_argument) << e.what();
    }
  }
  EXPECT_GT(taken, 500u);
}

TEST(cluster_names, everything_is_shown_wherever_it_is) {
  const client c = connect(the_cluster().url());
  std::vector<lease> held;
  for (int i = 0; i < 50; ++i) held.push_back(mutex(c, "shown/" + std::to_string(i)).acquire());
  EXPECT_EQ(c.inspect("shown/").size(), 50u);
}

TEST(cluster_moves, a_slot_that_has_moved_is_followed) {
  redis_cluster& nodes = the_cluster();
  mutex m(connect(nodes.url()), "m");
  mutex other(connect(nodes.url()), "m");
  lease held = m.acquire();
  const std::size_t to = another_master(nodes, "m");
  nodes.begin_move("m", to);
  nodes.carry_keys("m", to);
  nodes.end_move("m", to);
  EXPECT_FALSE(other.try_acquire()) << "it is held there too";
  EXPECT_TRUE(succeeded(held.renew()));
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_GT(other.acquire().token(), held.token());
}

TEST(cluster_moves, what_is_on_its_way_is_asked_for_where_it_goes) {
  redis_cluster& nodes = the_cluster();
  const client c = connect(nodes.url());
  fence f(c, "way");
  cell value(c, "way");
  ASSERT_TRUE(f.admit(7));
  const std::size_t to = another_master(nodes, "way");
  nodes.begin_move("way", to);
  EXPECT_TRUE(f.admit(8)) << "it is still at the source";
  nodes.carry_keys("way", to);
  EXPECT_FALSE(f.admit(7)) << "it is at the target";
  EXPECT_TRUE(f.admit(9));
  EXPECT_EQ(value.load().version, 0u) << "nobody has it: asked for at the target";
  nodes.node(to).command({"SCRIPT", "FLUSH"});
  EXPECT_TRUE(f.admit(10)) << "the target gets the text of the script";
  nodes.end_move("way", to);
  EXPECT_FALSE(f.admit(9));
  EXPECT_TRUE(f.admit(11));
}

TEST(cluster_moves, a_slot_wanders_under_load) {
  redis_cluster& nodes = the_cluster();
  std::mutex guard;
  fencing_token last = 0;
  int inside = 0;
  std::atomic<int> rounds{0};
  std::atomic<bool> stop{false};
  std::vector<std::jthread> workers;
  for (int w = 0; w < 4; ++w) {
    workers.emplace_back([&] {
      mutex m(connect(nodes.url(), {.request_timeout = 10s}), "load");
      while (!stop) {
        lease held = m.acquire({.wait = live_timeout});
        {
          const std::lock_guard lock(guard);
          EXPECT_EQ(++inside, 1);
          EXPECT_GT(held.token(), last);
          last = held.token();
        }
        ++rounds;
        const std::lock_guard lock(guard);
        --inside;
      }
    });
  }
  for (int move = 0; move < 4; ++move) {
    const int before = rounds;
    EXPECT_TRUE(eventually([&] { return rounds > before + 20; })) << "move " << move;
    const std::size_t to = another_master(nodes, "load");
    nodes.begin_move("load", to);
    nodes.carry_keys("load", to);
    nodes.end_move("load", to);
  }
  const int before = rounds;
  EXPECT_TRUE(eventually([&] { return rounds > before + 20; }));
  stop = true;
}

TEST(cluster_renewal, of_many_leases_is_few_writes) {
  redis_cluster& nodes = the_cluster();
  const client c = connect(nodes.url(), {.ttl = 6s});
  std::vector<lease> held;
  for (int i = 0; i < 1'000; ++i) held.push_back(mutex(c, "many/" + std::to_string(i)).acquire());
  const auto count = [&](const char* section, const std::string& field) {
    std::size_t all = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::string said = nodes.node(i).reply({"INFO", section});
      if (said.find("role:slave") != said.npos) continue;
      const auto at = said.find(field);
      if (at != said.npos) all += std::stoul(said.substr(at + field.size()));
    }
    return all;
  };
  std::vector<std::chrono::steady_clock::time_point> ends;
  for (const lease& one : held) ends.push_back(one.valid_until());
  const auto reads_before = count("everything", "total_reads_processed:");
  const auto scripts_before = count("everything", "cmdstat_evalsha:calls=");
  ASSERT_TRUE(eventually([&] {
    for (std::size_t i = 0; i < held.size(); ++i)
      if (held[i].valid_until() < ends[i] + 1s) return false;
    return true;
  }));
  const auto scripts = count("everything", "cmdstat_evalsha:calls=") - scripts_before;
  const auto reads = count("everything", "total_reads_processed:") - reads_before;
  EXPECT_GT(scripts, 500u) << "there are few names in one slot";
  EXPECT_LT(reads, scripts / 5) << "a server reads what was sent at once in pieces of 16 kB, among other things";
  for (const lease& one : held) EXPECT_TRUE(one.valid());
}

}  // namespace holdfast::testing
