#include "keys.hpp"
#include "script_text.hpp"

#include <holdfast/testing/redis_server.hpp>

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include <sstream>

// The scripts alone, with what no client would do on request: come back with another number of tokens, fall silent.

namespace holdfast::redis {

namespace {

const std::string client = "6f1d8e0a-1111-4222-8333-444455556666";

struct claimant {
  std::string owner;
  std::string hex;
};

claimant numbered(int n) { return {client + ":" + std::to_string(n), std::string(31, 'a') + std::to_string(n % 10)}; }

/// Listens as the client does.
class ears_of {
 public:
  explicit ears_of(const testing::redis_server& server) : context_(redisConnect("127.0.0.1", server.port())) {
    freeReplyObject(redisCommand(context_, "SUBSCRIBE holdfast_client:%s", client.c_str()));
  }
  ears_of(const ears_of&) = delete;
  ears_of& operator=(const ears_of&) = delete;
  ~ears_of() { redisFree(context_); }

 private:
  redisContext* context_;
};

/// The words of a script's answer.
std::vector<std::string> run(const testing::redis_server& server, std::initializer_list<std::string_view> parts,
                             const std::vector<std::string>& arguments) {
  std::string body = "local function whole() ";
  for (const auto part : parts) body += part;
  body +=
      " end local said = whole() if type(said) ~= 'table' then said = {said} end "
      "for i, word in ipairs(said) do said[i] = tostring(word) end return table.concat(said, ' ')";
  std::vector<std::string> words{"EVAL", body, "9"};
  const auto keys = lock_keys("my");
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::istringstream answer(server.command(words));
  std::vector<std::string> all;
  for (std::string word; answer >> word;) all.push_back(word);
  all.resize(std::max<std::size_t>(all.size(), 5));
  return all;
}

std::vector<std::string> enter(const testing::redis_server& server, const claimant& c, const std::string& kind,
                               const std::string& order, const std::string& tokens) {
  return run(server, {lua_head, lua_enter_free, lua_line, lua_prelude, lua_enter},
             {kind, "{my}", "h", c.owner, c.hex, "x", order, "1", "1", "30000", tokens, "1", "1\thost\tname", "60000"});
}

std::vector<std::string> leave(const testing::redis_server& server, const claimant& c, const std::string& kind) {
  return run(server, {lua_head, lua_leave_alone, lua_line, lua_prelude, lua_leave},
             {kind, "{my}", "h", c.owner, c.hex, "1"});
}

}  // namespace

TEST(redis_scripts, a_waiter_that_comes_back_for_more_tokens_gets_those_it_is_told) {
  const testing::redis_server server;
  const ears_of ears(server);
  enter(server, numbered(1), "m", "a", "1");
  EXPECT_EQ(enter(server, numbered(2), "m", "a", "1")[0], "0");
  server.command({"DEL", "my"});
  const auto granted = enter(server, numbered(2), "m", "a", "100");
  ASSERT_EQ(granted[0], "1");
  EXPECT_EQ(std::stoll(server.command({"GET", "redisson_lock_token:{my}"})),
            std::stoll(granted[1]) + std::stoll(granted[2]) - 1);
}

TEST(redis_scripts, those_in_the_fair_queue_outlive_the_turns_before_them) {
  const testing::redis_server server;
  for (int n = 1; n <= 4; ++n) enter(server, numbered(n), "m", "f", "1");
  const auto score = [&](int n) {
    return std::stoll(server.command({"ZSCORE", "redisson_lock_timeout:{my}", numbered(n).owner}));
  };
  // Long after: everybody's time is nearly up, and everybody looks again.
  for (int n = 2; n <= 4; ++n) server.command({"ZADD", "redisson_lock_timeout:{my}", "1", numbered(n).owner});
  for (int n = 2; n <= 4; ++n) EXPECT_EQ(enter(server, numbered(n), "m", "f", "1")[0], "0");
  EXPECT_GE(score(3) - score(2), 300'000);
  EXPECT_GE(score(4) - score(3), 300'000);
}

TEST(redis_scripts, permits_of_a_semaphore_are_not_given_to_who_does_not_take_them) {
  const testing::redis_server server;
  const ears_of ears(server);
  server.command({"SET", "my", "0"});
  enter(server, numbered(1), "c", "a", "1");
  const auto added = run(server, {lua_head, lua_line, lua_prelude, lua_count},
                         {"c", "{my}", "h", std::string(32, 'b'), "add", "1", "60000"});
  EXPECT_EQ(added[1], "1");
  EXPECT_EQ(server.command({"GET", "my"}), "1") << "told, not given";
  EXPECT_EQ(enter(server, numbered(1), "c", "a", "1")[0], "1");
  EXPECT_EQ(enter(server, numbered(1), "c", "a", "1")[0], "1") << "the same request again";
  EXPECT_EQ(server.command({"GET", "my"}), "0");
}

TEST(redis_scripts, a_cell_is_written_once_by_a_request_sent_twice) {
  const testing::redis_server server;
  const auto write = [&](const std::string& expected, const std::string& value, const std::string& id) {
    return server.command(
        {"EVAL", std::string(lua_exchange_cell), "2", "cell", "done:" + id, expected, value, id, "60000"});
  };
  EXPECT_EQ(write("0", "ours", "a"), ":1");
  const std::string version = server.command({"HGET", "cell", "version"});
  EXPECT_EQ(write(version, "theirs", "b"), ":1");
  EXPECT_EQ(write("0", "ours", "a"), ":1") << "it was written, and is not written again";
  EXPECT_EQ(server.command({"HGET", "cell", "value"}), "theirs");
  EXPECT_EQ(write("0", "late", "c"), ":0");
}

TEST(redis_scripts, a_dead_waiter_does_not_keep_other_kinds_out) {
  const testing::redis_server server;
  {
    const ears_of ears(server);
    enter(server, numbered(1), "m", "a", "1");
    enter(server, numbered(2), "m", "a", "1");
    server.command({"DEL", "my"});
    EXPECT_EQ(enter(server, numbered(3), "s", "a", "1")[0], "2");
  }
  EXPECT_EQ(enter(server, numbered(3), "s", "a", "1")[0], "1");
}

TEST(redis_scripts, a_waiter_that_is_silent_for_long_is_passed_over_though_its_client_listens) {
  const testing::redis_server server;
  const ears_of ears(server);
  for (int n = 1; n <= 3; ++n) enter(server, numbered(n), "m", "a", "1");
  server.command({"EVAL",
                  "local key = 'holdfast_wait:{my}' local was = redis.call('HGET', key, ARGV[1]) "
                  "redis.call('HSET', key, ARGV[1], (string.gsub(was, ' %d+ (%x+\\t)', ' 1 %1')))",
                  "0", numbered(2).owner});
  leave(server, numbered(1), "m");
  EXPECT_EQ(server.command({"HEXISTS", "my", numbered(3).owner}), ":1");
}

}  // namespace holdfast::redis
