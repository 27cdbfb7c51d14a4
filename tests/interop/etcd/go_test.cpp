#include "contender.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/testing/etcd_server.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/scale.hpp>
#include <holdfast/testing/shared_counter.hpp>

#include <gtest/gtest.h>

#include <fstream>

// Go's concurrency.Mutex and the recipe RWMutex beside ours.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

const std::string peers = HOLDFAST_PEERS;

class etcd_go : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream skipped(peers + "/skipped");
    if (std::string reason; std::getline(skipped, reason)) GTEST_SKIP() << reason;
    go_ = std::make_shared<foreign_peer>(std::vector<std::string>{peers + "/peer", server_.hosts()});
  }

  contender ours(const std::string& kind = "mutex") const {
    return {holder_process::connected(server_.url(), 20s),
            {.acquire = "acquire " + kind + " my", .release = "release"}};
  }
  /// A thread with a session of its own.
  contender theirs(const std::string& thread, spelling how = {.acquire = "acquire my", .release = "release my"}) const {
    return {go_, thread, std::move(how)};
  }
  contender their_reader(const std::string& thread) const {
    return theirs(thread, {.acquire = "rlock my", .release = "runlock my"});
  }
  contender their_writer(const std::string& thread) const {
    return theirs(thread, {.acquire = "wlock my", .release = "wunlock my"});
  }

  static void waits_for(contender& holder, contender& waiter) {
    holder.acquire();
    waiter.want();
    EXPECT_FALSE(waiter.reply_within(short_wait)) << "both are in";
    holder.release();
    waiter.got();
    waiter.release();
  }

  void expect_exact_count(std::vector<contender>& all, const std::vector<std::string>& commands, int share) const {
    const temporary_directory directory;
    const std::string file = (directory.path() / "counter").string();
    const shared_counter counter(file);
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i].tell(commands[i] + " my " + std::to_string(share) + " counter=" + file);
    for (auto& each : all) EXPECT_EQ(each.reply(100s), "counted " + std::to_string(share));
    EXPECT_EQ(counter.value(), static_cast<std::int64_t>(all.size()) * share);
    EXPECT_TRUE(eventually([&] { return server_.etcdctl("get --prefix --keys-only my/").empty(); }));
  }

  etcd_server server_;
  std::shared_ptr<foreign_peer> go_;
};

}  // namespace

TEST_F(etcd_go, a_mutex_excludes_both_sides) {
  contender them = theirs("one");
  contender us = ours();
  waits_for(them, us);
  waits_for(us, them);
  us.acquire();
  EXPECT_EQ(them.ask("try my"), "busy");
  us.release();
  EXPECT_EQ(them.ask("try my"), "granted");
  EXPECT_EQ(us.ask("try mutex my"), "busy");
  them.release();
}

TEST_F(etcd_go, three_of_each_side_lose_no_increment) {
  std::vector<contender> all;
  std::vector<std::string> commands;
  for (int i = 0; i < 3; ++i) {
    all.push_back(theirs(std::to_string(i)));
    commands.emplace_back("count");
    all.push_back(ours());
    commands.emplace_back("count mutex");
  }
  expect_exact_count(all, commands, scaled(20));
}

TEST_F(etcd_go, a_read_write_lock_lets_readers_of_both_sides_in_together) {
  contender reader = their_reader("reader");
  contender us = ours("reader");
  reader.acquire();
  us.acquire();
  contender writer = their_writer("writer");
  writer.want();
  EXPECT_FALSE(writer.reply_within(short_wait));
  reader.release();
  EXPECT_FALSE(writer.reply_within(short_wait)) << "we are still in";
  us.release();
  writer.got();
  writer.release();
}

TEST_F(etcd_go, a_writer_of_either_side_is_alone) {
  contender their_own = their_writer("writer");
  contender reader = their_reader("reader");
  contender our_writer = ours("shared_mutex");
  contender our_reader = ours("reader");
  waits_for(their_own, our_writer);
  waits_for(our_writer, their_own);
  waits_for(their_own, our_reader);
  waits_for(our_reader, their_own);
  waits_for(our_writer, reader);
  waits_for(reader, our_writer);
}

TEST_F(etcd_go, a_downgrade_keeps_their_writers_out_and_lets_their_readers_in) {
  shared_mutex ours_too(connect(server_.url()), "my");
  lease held = ours_too.acquire();
  contender writer = their_writer("writer");
  writer.want();
  EXPECT_FALSE(writer.reply_within(short_wait));
  ASSERT_TRUE(held.downgrade());
  EXPECT_FALSE(writer.reply_within(short_wait)) << "the reader that is left must be seen";
  ASSERT_TRUE(held.release());
  writer.got();
  writer.release();
}

TEST_F(etcd_go, writers_of_both_sides_lose_no_increment) {
  std::vector<contender> all;
  std::vector<std::string> commands;
  for (int i = 0; i < 2; ++i) {
    all.push_back(theirs(std::to_string(i)));
    commands.emplace_back("count_write");
    all.push_back(ours("shared_mutex"));
    commands.emplace_back("count shared_mutex");
  }
  expect_exact_count(all, commands, scaled(20));
}

}  // namespace holdfast::testing
