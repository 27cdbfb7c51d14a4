#include <holdfast/testing/conformance.hpp>
#include <holdfast/testing/history.hpp>
#include <holdfast/testing/scale.hpp>
#include <holdfast/testing/shared_counter.hpp>
#include <holdfast/testing/temporary_directory.hpp>

#include <algorithm>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

constexpr auto long_enough = 100s;

/// Starts them all before any connects: fifty that come at the same moment is the hard case for a fresh store.
std::vector<holder_process> start_all(int count, const std::string& url, const std::string& options = {}) {
  std::vector<holder_process> all;
  for (int i = 0; i < count; ++i) all.emplace_back();
  for (auto& holder : all) holder.tell("connect " + url + options);
  for (auto& holder : all) EXPECT_EQ(holder.reply(long_enough), "ok");
  return all;
}

}  // namespace

class counting_processes {
 public:
  explicit counting_processes(const std::string& url) : url_(url) {}

  void expect_exact_total(const std::string& kind, int contenders, int total) {
    const int share = std::max(1, scaled(total) / contenders);
    const std::string counter = (directory_.path() / ("counter-" + std::to_string(contenders))).string();
    const std::string history = (directory_.path() / ("history-" + std::to_string(contenders))).string();
    const std::string count = "count " + kind + " " + unique_name("count") + " " + std::to_string(share) +
                              " counter=" + counter + " history=" + history;
    std::vector<holder_process> all = start_all(contenders, url_);
    for (auto& holder : all) holder.tell(count);
    for (auto& holder : all) EXPECT_EQ(holder.reply(long_enough), "counted " + std::to_string(share));
    EXPECT_EQ(shared_counter(counter).value(), contenders * share) << contenders << " processes";
    const auto seen = read_history(history);
    EXPECT_EQ(grants(seen), static_cast<std::size_t>(contenders * share));
    EXPECT_EQ(contradiction(seen).value_or(""), "");
  }

 private:
  std::string url_;
  temporary_directory directory_;
};

TEST_P(process_contenders, ten_processes_with_a_mutex_count_exactly) {
  counting_processes(store().url()).expect_exact_total("mutex", 10, 2000);
}

TEST_P(process_contenders, a_hundred_processes_with_a_mutex_count_exactly) {
  counting_processes(store().url()).expect_exact_total("mutex", 100, 1000);
}

TEST_P(process_contenders, two_hundred_processes_with_a_mutex_count_exactly) {
  counting_processes(store().url()).expect_exact_total("mutex", 200, 1000);
}

TEST_P(process_contenders, ten_processes_with_a_recursive_mutex_count_exactly) {
  counting_processes(store().url()).expect_exact_total("recursive_mutex", 10, 1000);
}

TEST_P(process_contenders, a_hundred_processes_with_a_recursive_mutex_count_exactly) {
  counting_processes(store().url()).expect_exact_total("recursive_mutex", 100, 500);
}

TEST_P(process_contenders, two_hundred_processes_with_a_recursive_mutex_count_exactly) {
  counting_processes(store().url()).expect_exact_total("recursive_mutex", 200, 400);
}

TEST_P(process_contenders, two_hundred_processes_that_write_under_a_shared_mutex_count_exactly) {
  if (!supports().shared_mutex) GTEST_SKIP() << "this store has no shared_mutex";
  counting_processes(store().url()).expect_exact_total("shared_mutex", 200, 400);
}

TEST_P(process_contenders, ten_processes_that_write_under_a_shared_mutex_count_exactly) {
  if (!supports().shared_mutex) GTEST_SKIP() << "this store has no shared_mutex";
  counting_processes(store().url()).expect_exact_total("shared_mutex", 10, 1000);
}

TEST_P(process_contenders, a_hundred_processes_that_write_under_a_shared_mutex_count_exactly) {
  if (!supports().shared_mutex) GTEST_SKIP() << "this store has no shared_mutex";
  counting_processes(store().url()).expect_exact_total("shared_mutex", 100, 500);
}

TEST_P(process_contenders, ten_processes_in_a_fair_queue_count_exactly) {
  if (!supports().fifo) GTEST_SKIP() << "this store has no fair queue";
  const temporary_directory directory;
  const std::string counter = (directory.path() / "counter").string();
  const int share = scaled(50);
  std::vector<holder_process> all = start_all(10, store().url());
  for (auto& holder : all) {
    holder.tell("count mutex fair " + std::to_string(share) + " order=fifo counter=" + counter);
  }
  for (auto& holder : all) EXPECT_EQ(holder.reply(long_enough), "counted " + std::to_string(share));
  EXPECT_EQ(shared_counter(counter).value(), 10 * share);
}

TEST_P(process_contenders, killing_contenders_in_the_act_breaks_neither_exclusion_nor_progress) {
  const temporary_directory directory;
  const std::string counter = (directory.path() / "counter").string();
  const std::string history = (directory.path() / "history").string();
  const int share = std::max(20, scaled(150));
  const std::string count =
      "count mutex killed " + std::to_string(share) + " counter=" + counter + " history=" + history;
  // Where only the ttl frees the lock of the dead, theirs is a short one.
  const std::string short_ttl = store().notices_death_at_once() ? "" : " ttl=1500";
  std::vector<holder_process> victims = start_all(4, store().url(), short_ttl);
  std::vector<holder_process> survivors = start_all(4, store().url());
  for (auto& holder : victims) holder.tell(count);
  for (auto& holder : survivors) holder.tell(count);
  shared_counter progress(counter);
  for (auto& victim : victims) {
    const auto before = progress.value();
    ASSERT_TRUE(eventually([&] { return progress.value() > before + 5; })) << "nobody gets on";
    victim.kill();
  }
  for (auto& holder : survivors) EXPECT_EQ(holder.reply(long_enough), "counted " + std::to_string(share));
  const auto seen = read_history(history);
  EXPECT_EQ(contradiction(seen).value_or(""), "");
  // Each records its grant before it counts, and a victim may die between the two.
  EXPECT_LE(progress.value(), static_cast<std::int64_t>(grants(seen)));
  EXPECT_GE(progress.value(), 4 * share);
}

TEST_P(process_contenders, pausing_contenders_in_the_act_lets_no_two_in) {
  if (!store().expires_paused_holders()) GTEST_SKIP() << "the kernel keeps the lock of a paused process";
  const temporary_directory directory;
  const std::string history = (directory.path() / "history").string();
  const std::string name = unique_name("paused");
  history_writer ours(history);
  mutex m(connect(), name);
  holder_process other = start_holder(2s);  // where a session must end first
  for (int i = 0; i < 3; ++i) {
    // Not renewed: paused in the midst of a write it would keep an embedded store from everybody.
    const std::uint64_t token = other.granted("acquire mutex " + name + " ttl=600");
    ours.granted(token);
    const auto before = lease_clock::now();
    if (other.ask("valid") == "yes") ours.valid(token, before);
    other.pause();
    {
      const lease held = m.acquire({.wait = live_timeout});
      ours.granted(held.token());
      other.resume();
      EXPECT_EQ(other.ask("valid"), "no");
      ours.released(held.token());
    }
    EXPECT_NE(other.ask("release"), "ok");
  }
  EXPECT_EQ(contradiction(read_history(history)).value_or(""), "");
}

}  // namespace holdfast::testing
