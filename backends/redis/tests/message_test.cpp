#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/redis_server.hpp>

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include <memory>

// The messages that Redisson's waiters depend on, as recorded from Redisson itself: which channel, which number, when.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

const std::string java = "6f1d8e0a-1111-4222-8333-444455556666:7";

/// Hears what Redisson's clients hear.
class listener {
 public:
  explicit listener(const redis_server& server) : connection_(redisConnect("127.0.0.1", server.port()), &redisFree) {
    redisSetTimeout(connection_.get(), {.tv_sec = live_timeout.count(), .tv_usec = 0});
    redisAppendCommand(connection_.get(), "PSUBSCRIBE redisson_*");
    next();
  }

  /// `channel number` of the next message.
  std::string heard() {
    const reply message = next();
    if (!message || message->elements != 4) return "nothing";
    // Numbers are read as such there: ours may begin with a zero.
    return std::string(message->element[2]->str) + " " + std::to_string(std::stoll(message->element[3]->str));
  }

 private:
  using reply = std::unique_ptr<redisReply, void (*)(void*)>;

  reply next() {
    void* answer = nullptr;
    redisGetReply(connection_.get(), &answer);
    return {static_cast<redisReply*>(answer), &freeReplyObject};
  }

  std::unique_ptr<redisContext, void (*)(redisContext*)> connection_;
};

}  // namespace

class redisson_message : public ::testing::Test {
 protected:
  redis_server server_;
  listener redisson_{server_};
  client client_ = connect(server_.url());
};

TEST_F(redisson_message, a_lock_that_comes_free_says_zero) {
  ASSERT_TRUE(succeeded(mutex(client_, "my").acquire().release()));
  EXPECT_EQ(redisson_.heard(), "redisson_lock__channel:{my} 0");
  lease held = mutex(client_, "my").acquire();
  EXPECT_TRUE(client_.evict("my"));
  EXPECT_EQ(redisson_.heard(), "redisson_lock__channel:{my} 0");
}

TEST_F(redisson_message, a_fair_lock_that_comes_free_tells_the_head_of_the_queue_alone) {
  lease held = mutex(client_, "my", {.order = ordering::fifo}).acquire();
  for (const auto& owner : {java, java + "7"}) {
    server_.command({"RPUSH", "redisson_lock_queue:{my}", owner});
    server_.command({"ZADD", "redisson_lock_timeout:{my}", "99999999999999", owner});
  }
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_EQ(redisson_.heard(), "redisson_lock__channel:{my}:" + java + " 0");
}

TEST_F(redisson_message, the_last_reader_says_zero_and_a_writer_one) {
  shared_mutex m(client_, "my");
  lease first = m.acquire_shared();
  lease second = m.acquire_shared();
  ASSERT_TRUE(succeeded(first.release()));
  ASSERT_TRUE(succeeded(second.release()));
  EXPECT_EQ(redisson_.heard(), "redisson_rwlock:{my} 0");
  ASSERT_TRUE(succeeded(m.acquire().release()));
  EXPECT_EQ(redisson_.heard(), "redisson_rwlock:{my} 1");
  // Redisson is silent here, and its readers wait until the ttl ends.
  lease held = m.acquire();
  ASSERT_TRUE(succeeded(held.downgrade()));
  EXPECT_EQ(redisson_.heard(), "redisson_rwlock:{my} 1");
}

TEST_F(redisson_message, a_semaphore_says_how_many_permits_there_are) {
  counting_semaphore s(client_, "my");
  ASSERT_TRUE(s.try_set_permits(3));
  EXPECT_EQ(redisson_.heard(), "redisson_sc:{my} 3");
  s.acquire(2);
  s.release(2);
  EXPECT_EQ(redisson_.heard(), "redisson_sc:{my} 3");
  s.add_permits(2);
  EXPECT_EQ(redisson_.heard(), "redisson_sc:{my} 5");
}

TEST_F(redisson_message, a_permit_that_comes_back_says_how_many_there_are) {
  permit_semaphore s(client_, "my", 2);
  lease first = s.acquire();
  lease second = s.acquire();
  ASSERT_TRUE(succeeded(second.release()));
  EXPECT_EQ(redisson_.heard(), "redisson_sc:{my} 1");
  ASSERT_TRUE(succeeded(first.release()));
  EXPECT_EQ(redisson_.heard(), "redisson_sc:{my} 2");
}

TEST_F(redisson_message, a_latch_says_one_when_it_is_set_and_zero_when_it_opens) {
  latch l(client_, "my");
  ASSERT_TRUE(l.try_set_count(2));
  EXPECT_EQ(redisson_.heard(), "redisson_countdownlatch__channel__{my} 1");
  l.count_down();
  l.count_down();
  EXPECT_EQ(redisson_.heard(), "redisson_countdownlatch__channel__{my} 0");
}

}  // namespace holdfast::testing
