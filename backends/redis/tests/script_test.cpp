#include "script.hpp"
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

/// Listens as the client does, or as another does.
class ears_of {
 public:
  explicit ears_of(const testing::redis_server& server, const std::string& channel = "holdfast_client:" + client)
      : context_(redisConnect("127.0.0.1", server.port())) {
    freeReplyObject(redisCommand(context_, "SUBSCRIBE %s", channel.c_str()));
  }
  ears_of(const ears_of&) = delete;
  ears_of& operator=(const ears_of&) = delete;
  ~ears_of() { redisFree(context_); }

 private:
  redisContext* context_;
};

/// The words of a script's answer.
std::vector<std::string> run(const testing::redis_server& server, const script& what,
                             const std::vector<std::string>& arguments, const std::string& name = "my") {
  const std::string body = "local function whole() " + what.text() +
                           " end local said = whole() if type(said) ~= 'table' then said = {said} end "
                           "return table.concat(said, ' ')";
  std::vector<std::string> words{"EVAL", body, "1", name};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::istringstream answer(server.command(words));
  std::vector<std::string> all;
  for (std::string word; answer >> word;) all.push_back(word);
  all.resize(std::max<std::size_t>(all.size(), 5));
  return all;
}

std::vector<std::string> enter(const testing::redis_server& server, const claimant& c, const std::string& kind,
                               const std::string& order, const std::string& tokens, const std::string& name = "my") {
  const std::string told = kind + "hn" + order + "1 30000 " + tokens + " x 1 " + c.hex + "\t1\thost\tname";
  std::vector<std::string> arguments{told, c.owner};
  if (kind != "m") arguments.insert(arguments.end(), {"", "1", "60000"});
  auto said = run(server, scripts::all().enter, arguments, name);
  if (said[0].size() > 1) said = {"1", said[0], "1", "30000", said[0]};
  return said;
}

std::vector<std::string> leave(const testing::redis_server& server, const claimant& c, const std::string& kind) {
  return run(server, scripts::all().leave, {kind + "hn", c.owner, c.hex, "1"});
}

}  // namespace

TEST(redis_scripts, keys_stand_in_the_slot_of_the_name_as_redissons_do) {
  const testing::redis_server server;
  const ears_of ears(server);
  for (const std::string name : {"my", "a{b}c"}) {
    for (int n = 1; n <= 2; ++n) enter(server, numbered(n), "m", "f", "1", name);
    const std::string tag = name == "my" ? "{my}" : name;
    const std::string ours = name == "my" ? ":{my}" : "::a{b}c";
    EXPECT_EQ(server.command({"EXISTS", name, "redisson_lock_token:" + tag, "redisson_lock_queue:" + tag,
                              "redisson_lock_timeout:" + tag, "holdfast_wait" + ours, "holdfast_last" + ours}),
              ":6");
  }
}

TEST(redis_scripts, a_waiter_that_comes_back_for_more_tokens_gets_those_it_is_told) {
  const testing::redis_server server;
  const ears_of ears(server);
  enter(server, numbered(1), "m", "a", "1");
  EXPECT_EQ(enter(server, numbered(2), "m", "a", "1")[0], "0");
  server.command({"DEL", "my"});
  const auto granted = enter(server, numbered(2), "m", "a", "100");
  ASSERT_EQ(granted[0], "1");
  EXPECT_EQ(granted[2], "100");
  leave(server, numbered(2), "m");
  EXPECT_GT(std::stoll(enter(server, numbered(3), "m", "a", "1")[1]), std::stoll(granted[1]) + 99);
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
  const auto added = run(server, scripts::all().count, {"chn", std::string(32, 'b'), "add", "1", "60000"});
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
                  "redis.call('HSET', key, ARGV[1], (string.gsub(was, '^%d+', '1')))",
                  "0", numbered(2).owner});
  leave(server, numbered(1), "m");
  EXPECT_EQ(server.command({"HEXISTS", "my", numbered(3).owner}), ":1");
}

TEST(redis_scripts, every_seventeenth_turn_is_for_others_if_they_listen) {
  const testing::redis_server server;
  const ears_of ours(server);
  const auto turns_until_free = [&] {
    for (int n = 0; n <= 40; ++n) enter(server, numbered(n), "m", "a", "1");
    int turns = 0;
    while (turns < 40 && server.command({"EXISTS", "my"}) == ":1") leave(server, numbered(turns++), "m");
    server.command({"FLUSHALL"});
    return turns;
  };
  EXPECT_EQ(turns_until_free(), 40) << "nobody else is there";
  const ears_of java(server, "redisson_lock__channel:{my}");
  EXPECT_EQ(turns_until_free(), 17);
}

TEST(redis_scripts, a_waiter_whose_client_is_gone_is_passed_over) {
  const testing::redis_server server;
  const claimant gone{"00000000-1111-4222-8333-444455556666:2", std::string(32, 'b')};
  for (const std::string order : {"a", "f"}) {
    const ears_of ears(server);
    enter(server, numbered(1), "m", order, "1");
    enter(server, gone, "m", order, "1");
    enter(server, numbered(3), "m", order, "1");
    leave(server, numbered(1), "m");
    EXPECT_EQ(server.command({"HEXISTS", "my", numbered(3).owner}), ":1");
    EXPECT_EQ(server.command({"HLEN", "my"}), ":1");
    leave(server, numbered(3), "m");
    EXPECT_EQ(server.command({"EXISTS", "my", "holdfast_wait:{my}", "holdfast_line:{my}", "redisson_lock_queue:{my}",
                              "redisson_lock_timeout:{my}"}),
              ":0");
  }
}

TEST(redis_scripts, scores_of_the_fair_queue_move_up_with_the_turns_before_them) {
  const testing::redis_server server;
  const ears_of ears(server);
  const std::string java = "6f1d8e0a-9999-4222-8333-444455556666:41";
  const auto ahead = [&](const std::string& owner) {
    return std::stoll(server.command({"ZSCORE", "redisson_lock_timeout:{my}", owner})) -
           std::stoll(server.command({"EVAL", "return redis.call('TIME')[1]", "0"})) * 1000;
  };
  for (int n = 0; n < 4; ++n) enter(server, numbered(n), "m", "f", "1");
  const auto turn = [&](int n) {
    leave(server, numbered(n % 4), "m");
    EXPECT_EQ(enter(server, numbered(n % 4), "m", "f", "1")[2], "2");
  };
  for (int n = 0; n < 50; ++n) turn(n);
  EXPECT_LT(ahead(numbered(1).owner), 300'000 * (3 + 16) + 60'000) << "of fifty turns no more than sixteen are owed";
  EXPECT_GT(ahead(numbered(1).owner), 300'000 * 2);
  // With Redisson's in the queue nothing is owed any more.
  const std::string score = server.command({"ZSCORE", "redisson_lock_timeout:{my}", numbered(1).owner});
  server.command({"RPUSH", "redisson_lock_queue:{my}", java});
  server.command({"ZADD", "redisson_lock_timeout:{my}", std::to_string(std::stoll(score) + 300'000), java});
  leave(server, numbered(2), "m");
  EXPECT_EQ(server.command({"HEXISTS", "my", numbered(3).owner}), ":1");
  EXPECT_LT(ahead(java), 300'000 * 4 + 60'000);
  EXPECT_GT(ahead(java), 300'000 * 3 - 60'000);
}

TEST(redis_scripts, tokens_go_on_above_what_others_did_with_the_counter) {
  const testing::redis_server server;
  const auto next = [&](int n) {
    const auto granted = enter(server, numbered(n), "m", "a", "1");
    return std::stoll(granted[1]);
  };
  const auto first = next(1);
  const auto theirs = std::stoll(server.command({"INCR", "redisson_lock_token:{my}"}).substr(1));
  EXPECT_GT(theirs, first);
  leave(server, numbered(1), "m");
  const auto second = next(2);
  EXPECT_GT(second, theirs);
  const auto floor = second + 500'000;
  run(server, scripts::all().raise, {"mhn", numbered(2).owner, numbered(2).hex, std::to_string(floor)});
  leave(server, numbered(2), "m");
  EXPECT_GT(next(3), floor);
  leave(server, numbered(3), "m");
  server.command({"DEL", "redisson_lock_token:{my}"});
  EXPECT_GT(next(4), floor) << "what stands beside the lock remembers it too";
}

}  // namespace holdfast::redis
