#include "contest.hpp"

#include <holdfast/testing/shared_counter.hpp>
#include <holdfast/testing/temporary_directory.hpp>

#include <algorithm>
#include <iterator>
#include <sstream>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

using clock = std::chrono::steady_clock;

std::chrono::milliseconds in_ms(clock::duration d) { return std::chrono::duration_cast<std::chrono::milliseconds>(d); }

}  // namespace

long contest::signs() const { return signs_.empty() ? 0 : std::stol(server_.command({"EVAL", signs_, "0"}).substr(1)); }

void contest::let_wait(contender& waiter) const {
  const long before = signs();
  waiter.want();
  // Others' listeners may go at the same time and hide it: then this was long enough.
  if (!signs_.empty()) (void)eventually([&] { return signs() > before; }, 1s);
  const auto said = waiter.reply_within(short_wait);
  EXPECT_FALSE(said) << "did not wait: " << said.value_or("");
}

void contest::expect_woken(contender& holder, contender& waiter) const {
  auto best = clock::duration::max();
  for (int round = 0; round < 3; ++round) {
    holder.acquire();
    let_wait(waiter);
    const auto start = clock::now();
    holder.begin_release();
    waiter.got();
    const auto took = clock::now() - start;
    holder.end_release();
    EXPECT_LT(in_ms(took).count(), 5000) << "the ttl woke it, not the release";
    best = std::min(best, took);
    waiter.release();
  }
  EXPECT_LT(in_ms(best).count(), promptly.count());
}

void contest::expect_freed_by_ttl(contender& holder, contender& waiter, const std::vector<std::string>& left) const {
  holder.acquire();
  let_wait(waiter);
  holder.kill();
  left_alone_ = true;
  const auto killed = clock::now();
  const auto still = std::stoll(server_.command(left).substr(1));
  EXPECT_GT(still, 0);
  waiter.got();
  // Redis counts in whole milliseconds.
  EXPECT_GE(in_ms(clock::now() - killed).count() + 2, still) << "it was still the dead one's";
  waiter.release();
}

void contest::expect_passed_over(contender& holder, contender& victim, contender& next) const {
  holder.acquire();
  let_wait(victim);
  let_wait(next);
  victim.kill();
  left_alone_ = true;
  holder.release();
  next.got();
  next.release();
}

void contest::expect_exact_count(std::vector<contender>& all, const std::vector<std::string>& commands,
                                 int share) const {
  const temporary_directory directory;
  const std::string file = (directory.path() / "counter").string();
  const shared_counter counter(file);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].tell(commands[i] + " " + std::to_string(share) + " counter=" + file);
  }
  for (auto& each : all) EXPECT_EQ(each.reply(100s), "counted " + std::to_string(share));
  EXPECT_EQ(counter.value(), static_cast<std::int64_t>(all.size()) * share);
}

std::vector<std::string> contest::keys_but(const std::vector<std::string>& prefixes) const {
  // Sorted out at the server: Redisson may keep thousands of answers for a while.
  std::vector<std::string> question{"EVAL",
                                    "local found = {} "
                                    "for _, key in ipairs(redis.call('KEYS', '*')) do "
                                    "  local known = false "
                                    "  for _, p in ipairs(ARGV) do known = known or string.sub(key, 1, #p) == p end "
                                    "  if not known then found[#found + 1] = key end "
                                    "end "
                                    "return table.concat(found, ' ')",
                                    "0"};
  question.insert(question.end(), prefixes.begin(), prefixes.end());
  std::istringstream words(server_.command(question));
  return {std::istream_iterator<std::string>(words), {}};
}

bool contest::ends_by_itself(const std::string& key) const {
  return key.starts_with("holdfast_") && server_.command({"PTTL", key}) != ":-1";
}

void contest::expect_nothing_left(const std::vector<std::string>& documented) const {
  std::string left;
  const auto none = [&] {
    left.clear();
    for (const auto& key : keys_but(documented)) {
      if (!left_alone_ || !ends_by_itself(key)) left += " " + key;
    }
    return left.empty();
  };
  EXPECT_TRUE(eventually(none, 5s)) << "left behind:" << left;
}

}  // namespace holdfast::testing
