#include "doctor.hpp"

#include <holdfast/testing/etcd_server.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace holdfast::etcd {

using namespace std::chrono_literals;

namespace {

health well() {
  health out;
  out.asked.push_back({"h:1", "", "3.5.23", 1, 1, 1000, 2'000'000'000, false});
  out.members = 3;
  out.write = 2ms;
  out.least_ttl = 2s;
  return out;
}

std::size_t count(const health& what, finding::level how) {
  const auto all = judge(what);
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [&](const finding& f) { return f.how == how; }));
}

bool says(const health& what, finding::level how, const std::string& words) {
  const auto all = judge(what);
  return std::any_of(all.begin(), all.end(),
                     [&](const finding& f) { return f.how == how && f.text.find(words) != std::string::npos; });
}

using level = finding::level;

}  // namespace

TEST(etcd_doctor, says_nothing_bad_of_a_cluster_that_is_well) {
  EXPECT_EQ(count(well(), level::warning), 0u);
  EXPECT_EQ(count(well(), level::danger), 0u);
  EXPECT_TRUE(says(well(), level::fact, "survives the loss of 1"));
}

TEST(etcd_doctor, knows_the_versions_with_defects) {
  for (const char* bad : {"3.4.23", "3.4.30", "3.5.0", "3.5.12"}) {
    auto what = well();
    what.asked[0].version = bad;
    EXPECT_TRUE(says(what, level::warning, "deposed")) << bad;
  }
  for (const char* good : {"3.4.38", "3.4.40", "3.5.23", "3.6.5", "3.10.1"}) {
    auto what = well();
    what.asked[0].version = good;
    EXPECT_EQ(count(what, level::warning), 0u) << good;
  }
  for (const char* forgetful : {"3.4.37", "3.5.22", "3.6.0", "3.6.4"}) {
    auto what = well();
    what.asked[0].version = forgetful;
    EXPECT_TRUE(says(what, level::warning, "said to be alive")) << forgetful;
  }
  auto old = well();
  old.asked[0].version = "3.3.27";
  EXPECT_TRUE(says(old, level::danger, "older than 3.4"));
}

TEST(etcd_doctor, counts_who_answers) {
  auto what = well();
  EXPECT_TRUE(says(what, level::fact, "the URL names 1 of 3"));
  const auto other = what.asked[0];
  what.asked.push_back(other);
  what.asked.push_back({"h:3", "no answer", "", 0, 0, 0, 0, false});
  EXPECT_EQ(count(what, level::danger), 0u);
  what.asked[1].leader = 2;
  EXPECT_TRUE(says(what, level::warning, "do not agree on their leader"));
  what.asked[1].failure = "no answer";
  EXPECT_TRUE(says(what, level::danger, "only 1 of 3 members answer"));
}

TEST(etcd_doctor, sees_what_endangers_locks) {
  auto what = well();
  what.asked[0].leader = 0;
  EXPECT_TRUE(says(what, level::danger, "no leader"));
  what = well();
  what.full = true;
  EXPECT_TRUE(says(what, level::danger, "NOSPACE"));
  what = well();
  what.corrupt = true;
  EXPECT_TRUE(says(what, level::danger, "CORRUPT"));
  what = well();
  what.members = 1;
  EXPECT_TRUE(says(what, level::warning, "the loss of one is an outage"));
  what = well();
  what.write = 250ms;
  EXPECT_TRUE(says(what, level::warning, "250 ms"));
  what = well();
  what.asked[0].size = 1'900'000'000;
  EXPECT_TRUE(says(what, level::warning, "quota"));
  what = well();
  what.asked.push_back({"h:2", "no answer", "", 0, 0, 0, 0, false});
  EXPECT_TRUE(says(what, level::warning, "h:2 does not answer"));
}

TEST(etcd_doctor, names_a_clock_that_is_off) {
  auto what = well();
  what.asked[0].ahead = 1s;
  EXPECT_EQ(count(what, level::warning), 0u) << "a date has whole seconds";
  what.asked[0].ahead = 40s;
  EXPECT_TRUE(says(what, level::warning, "40 s ahead of ours"));
  what.asked[0].ahead = -40s;
  EXPECT_TRUE(says(what, level::warning, "40 s behind ours"));
}

TEST(etcd_doctor, reads_the_date_of_an_answer) {
  EXPECT_EQ(date_in("HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n{}"),
            std::chrono::sys_seconds(784111777s));
  for (const char* none : {"", "HTTP/1.1 200 OK\r\n\r\n", "\r\nDate: ", "\r\nDate: yesterday\r\n",
                           "\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT and more\r\n"})
    EXPECT_FALSE(date_in(none)) << none;
}

TEST(etcd_doctor, asks_a_member_for_its_clock) {
  testing::etcd_server server;
  const auto before = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto said = clock_of(server.node(0).address());
  ASSERT_TRUE(said);
  EXPECT_GE(*said, before);
  EXPECT_LE(*said, std::chrono::system_clock::now());
  EXPECT_FALSE(clock_of("127.0.0.1:1")) << "nobody is there";
}

}  // namespace holdfast::etcd
