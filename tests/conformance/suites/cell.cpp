#include <holdfast/testing/conformance.hpp>

#include <stdexcept>
#include <thread>
#include <vector>

namespace holdfast::testing {

namespace {

std::string plus_one(const std::string& old) { return std::to_string(old.empty() ? 1 : std::stol(old) + 1); }

}  // namespace

TEST_P(cell_conformance, a_new_cell_is_empty) {
  const cell::snapshot fresh = cell(connect(), unique_name("new")).load();
  EXPECT_EQ(fresh.value, "");
  EXPECT_EQ(fresh.version, 0u);
}

TEST_P(cell_conformance, an_exchange_of_the_newest_version_is_written) {
  const std::string name = unique_name("exchange");
  cell ours(connect(), name);
  cell theirs(connect(), name);
  EXPECT_TRUE(ours.compare_exchange(0, "one"));
  const cell::snapshot seen = theirs.load();
  EXPECT_EQ(seen.value, "one");
  EXPECT_GT(seen.version, 0u);
  EXPECT_TRUE(theirs.compare_exchange(seen.version, "two"));
  EXPECT_EQ(ours.load().value, "two");
  EXPECT_GT(ours.load().version, seen.version);
}

TEST_P(cell_conformance, an_exchange_of_an_older_version_is_not_written) {
  cell number(connect(), unique_name("older"));
  ASSERT_TRUE(number.compare_exchange(0, "one"));
  const cell::snapshot seen = number.load();
  EXPECT_FALSE(number.compare_exchange(0, "lost"));
  EXPECT_FALSE(number.compare_exchange(seen.version + 1, "lost"));
  EXPECT_EQ(number.load().value, "one");
  EXPECT_EQ(number.load().version, seen.version);
}

TEST_P(cell_conformance, a_value_that_comes_back_has_a_new_version) {
  cell value(connect(), unique_name("aba"));
  ASSERT_TRUE(value.compare_exchange(0, "A"));
  const cell::snapshot first = value.load();
  ASSERT_TRUE(value.compare_exchange(first.version, "B"));
  ASSERT_TRUE(value.compare_exchange(value.load().version, "A"));
  EXPECT_EQ(value.load().value, first.value);
  EXPECT_GT(value.load().version, first.version);
  EXPECT_FALSE(value.compare_exchange(first.version, "C"));
}

TEST_P(cell_conformance, writing_the_same_value_is_a_new_version) {
  cell value(connect(), unique_name("same"));
  ASSERT_TRUE(value.compare_exchange(0, "A"));
  const auto before = value.load().version;
  ASSERT_TRUE(value.compare_exchange(before, "A"));
  EXPECT_GT(value.load().version, before);
}

TEST_P(cell_conformance, an_empty_value_is_not_a_new_cell) {
  cell value(connect(), unique_name("empty"));
  ASSERT_TRUE(value.compare_exchange(0, "A"));
  ASSERT_TRUE(value.compare_exchange(value.load().version, ""));
  EXPECT_EQ(value.load().value, "");
  EXPECT_GT(value.load().version, 0u);
  EXPECT_FALSE(value.compare_exchange(0, "B"));
}

TEST_P(cell_conformance, any_bytes_come_back_as_they_went) {
  cell value(connect(), unique_name("bytes"));
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  for (const std::string& written :
       {bytes, std::string("\0\0", 2), std::string("'; DROP TABLE x; --"), std::string("%s\n\r")}) {
    value.update([&](const std::string&) { return written; });
    EXPECT_EQ(value.load().value, written);
  }
}

TEST_P(cell_conformance, a_value_may_be_a_mebibyte_and_no_more) {
  cell value(connect(), unique_name("large"));
  const std::string largest(std::size_t{1} << 20, 'x');
  ASSERT_TRUE(value.compare_exchange(0, largest));
  EXPECT_EQ(value.load().value, largest);
  const auto version = value.load().version;
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { return value.compare_exchange(version, largest + "x"); }));
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { value.update([&](const std::string& old) { return old + "x"; }); }));
  EXPECT_EQ(value.load().version, version);
}

TEST_P(cell_conformance, update_tells_what_it_wrote) {
  const std::string name = unique_name("update");
  cell number(connect(), name);
  EXPECT_EQ(number.update(plus_one), "1");
  const auto before = number.load().version;
  EXPECT_EQ(number.update(plus_one), "2");
  EXPECT_EQ(number.load().value, "2");
  EXPECT_GT(number.load().version, before);
}

TEST_P(cell_conformance, what_the_change_throws_comes_out_and_nothing_is_written) {
  cell number(connect(), unique_name("throws"));
  number.update(plus_one);
  const auto before = number.load();
  EXPECT_THROW(number.update([](const std::string&) -> std::string { throw std::runtime_error("mine"); }),
               std::runtime_error);
  EXPECT_EQ(number.load().version, before.version);
}

TEST_P(cell_conformance, an_update_that_comes_late_is_applied_to_the_newest_value) {
  const std::string name = unique_name("late");
  cell ours(connect(), name);
  cell theirs(connect(), name);
  int calls = 0;
  ours.update([&](const std::string& old) {
    if (++calls == 1) theirs.update(plus_one);  // Somebody comes between.
    return plus_one(old);
  });
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(ours.load().value, "2");
}

TEST_P(cell_conformance, no_update_is_lost_under_contention) {
  const std::string name = unique_name("contention");
  const client one = connect();
  const client two = connect();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        cell number(t % 2 == 0 ? one : two, name);
        for (int i = 0; i < 50; ++i) number.update(plus_one);
      });
    }
  }
  EXPECT_EQ(cell(one, name).load().value, "200");
}

TEST_P(cell_conformance, no_update_is_lost_between_processes) {
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
  const std::string name = unique_name("processes");
  std::vector<holder_process> others;
  for (int i = 0; i < 3; ++i) others.push_back(start_holder());
  for (auto& other : others) other.tell("add " + name + " 30");
  for (auto& other : others) EXPECT_EQ(other.reply(), "ok");
  EXPECT_EQ(cell(connect(), name).load().value, "90");
}

}  // namespace holdfast::testing
