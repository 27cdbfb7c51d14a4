#include "redisson_test.hpp"

// Readers together, writers alone, and writers that become readers, on both sides.

namespace holdfast::testing {

using namespace std::chrono_literals;

class redisson_read_write : public redisson_release_test {
 protected:
  contender theirs(const std::string& thread, const std::string& side) {
    return {java(), thread, {.acquire = "acquire " + side + " my", .release = "release " + side + " my"}};
  }
};

TEST_P(redisson_read_write, readers_of_both_sides_are_inside_together) {
  shared_mutex m(ours(), "my");
  contender reader = theirs("reader", "read");
  contender writer = theirs("writer", "write");
  lease first = m.acquire_shared();
  reader.acquire();
  lease second = m.acquire_shared();
  EXPECT_FALSE(m.try_acquire());
  contest_.let_wait(writer);
  first.release().value();
  reader.release();
  EXPECT_TRUE(second.valid());
  EXPECT_FALSE(writer.reply_within(short_wait)) << "one of ours still reads";
  second.release().value();
  writer.got();
  writer.release();
}

TEST_P(redisson_read_write, the_last_reader_to_leave_lets_the_writer_in_whichever_side_it_is) {
  shared_mutex m(ours(), "my");
  contender reader = theirs("reader", "read");
  lease held = m.acquire_shared();
  reader.acquire();
  auto waits = m.async_acquire();
  held.release().value();
  EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
  reader.release();
  ASSERT_TRUE(eventually([&] { return waits.ready(); }, 5s));
  waits.get().release().value();
}

TEST_P(redisson_read_write, a_reader_of_theirs_outlives_the_release_of_ours) {
  shared_mutex m(ours(), "my");
  contender reader = theirs("reader", "read");
  lease brief = m.acquire_shared({.ttl = 1s});
  reader.acquire();
  brief.release().value();
  EXPECT_GT(std::stol(server().command({"PTTL", "my"}).substr(1)), 20'000);
  EXPECT_FALSE(m.try_acquire());
  reader.release();
}

TEST_P(redisson_read_write, our_downgrade_lets_their_readers_in_and_keeps_writers_out) {
  shared_mutex m(ours(), "my");
  contender reader = theirs("reader", "read");
  contender writer = theirs("writer", "write");
  lease held = m.acquire();
  contest_.let_wait(reader);
  held.downgrade().value();
  reader.got();
  contest_.let_wait(writer);
  reader.release();
  EXPECT_FALSE(writer.reply_within(short_wait));
  held.release().value();
  writer.got();
  writer.release();
}

TEST_P(redisson_read_write, their_downgrade_lets_our_readers_in_and_keeps_writers_out) {
  shared_mutex m(ours(), "my");
  contender them = theirs("both", "write");
  them.acquire();
  EXPECT_EQ(them.ask("acquire read my"), "granted");
  EXPECT_FALSE(m.try_acquire_shared());
  auto reads = m.async_acquire_shared();
  EXPECT_FALSE(eventually([&] { return reads.ready(); }, short_wait));
  them.release();  // Redisson tells nobody: we look every second.
  ASSERT_TRUE(eventually([&] { return reads.ready(); }, 5s));
  lease reader = reads.get();
  EXPECT_FALSE(m.try_acquire());
  reader.release().value();
  EXPECT_FALSE(m.try_acquire());
  EXPECT_EQ(them.ask("release read my"), "ok");
  EXPECT_TRUE(m.try_acquire());
}

TEST_P(redisson_read_write, their_reentrant_readers_and_writers_are_counted) {
  shared_mutex m(ours(), "my");
  contender them = theirs("both", "read");
  them.acquire();
  them.acquire();
  lease reader = m.acquire_shared();
  them.release();
  reader.release().value();
  EXPECT_FALSE(m.try_acquire()) << "it was held twice";
  them.release();
  EXPECT_EQ(them.ask("acquire write my"), "granted");
  EXPECT_EQ(them.ask("acquire write my"), "granted");
  EXPECT_EQ(them.ask("release write my"), "ok");
  EXPECT_FALSE(m.try_acquire_shared());
  EXPECT_EQ(them.ask("release write my"), "ok");
  EXPECT_TRUE(m.try_acquire());
}

INSTANTIATE_TEST_SUITE_P(every, redisson_read_write, ::testing::ValuesIn(redisson_versions()),
                         [](const auto& test) { return version_label(test.param); });

}  // namespace holdfast::testing
