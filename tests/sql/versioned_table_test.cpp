// Optimistic locking on a table of the user's.
#include "database.hpp"

#include <holdfast/testing/scale.hpp>

#include <thread>

namespace holdfast::testing {
namespace {

class versioned_rows : public on_database {
 protected:
  void SetUp() override {
    on_database::SetUp();
    make_numbers();
  }

  const sql::versioned_table numbers{{.table = "numbers"}};
  const sql::versioned_table::key one{{"id", 1}};
};
INSTANTIATE_TEST_SUITE_P(sql, versioned_rows, ::testing::Values("postgresql", "mariadb"),
                         [](const auto& one) { return one.param; });

std::int64_t next(const sql::versioned_table::snapshot& seen) { return std::stoll(*seen.values.at(0)) + 1; }

TEST_P(versioned_rows, are_written_by_who_saw_the_newest) {
  const auto in = db->connect();
  const auto seen = numbers.load(*in, one, {"number", "fence"});
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->version, 0);
  EXPECT_EQ(seen->values, (sql::row{"0", "0"}));
  EXPECT_TRUE(numbers.compare_exchange(*in, one, seen->version, {{"number", 5}}));
  EXPECT_FALSE(numbers.compare_exchange(*in, one, seen->version, {{"number", 6}}));
  EXPECT_EQ(number(*in), 5);
  EXPECT_EQ(numbers.load(*in, one, {})->version, 1);
  EXPECT_TRUE(numbers.compare_exchange(*in, one, 1, {})) << "nothing but the version";
  EXPECT_EQ(numbers.load(*in, one, {})->version, 2);
}

TEST_P(versioned_rows, that_are_missing_are_said_to_be) {
  const auto in = db->connect();
  EXPECT_FALSE(numbers.load(*in, {{"id", 99}}, {"number"}));
  EXPECT_FALSE(numbers.compare_exchange(*in, {{"id", 99}}, 0, {{"number", 1}}));
  int calls = 0;
  EXPECT_FALSE(numbers.update(*in, {{"id", 99}}, {"number"}, [&](const auto&) {
    ++calls;
    return std::vector<sql::field>();
  }));
  EXPECT_EQ(calls, 0);
}

TEST_P(versioned_rows, lose_no_update) {
  constexpr int threads = 8;
  const int rounds = scaled(40);
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i) {
      all.emplace_back([&] {
        const auto in = db->connect();
        for (int round = 0; round < rounds; ++round)
          numbers.update(*in, one, {"number"},
                         [](const auto& seen) { return std::vector<sql::field>{{"number", next(seen)}}; },
                         {.attempts = 100'000});
      });
    }
  }
  const auto in = db->connect();
  EXPECT_EQ(number(*in), threads * rounds);
  EXPECT_EQ(numbers.load(*in, one, {})->version, threads * rounds);
}

TEST_P(versioned_rows, give_up_at_the_limit_and_say_so) {
  const auto in = db->connect();
  const auto other = db->connect();
  int calls = 0;
  const auto late = [&](const sql::versioned_table::snapshot& seen) {
    ++calls;
    EXPECT_TRUE(numbers.compare_exchange(*other, one, seen.version, {{"number", next(seen)}}));
    return std::vector<sql::field>{{"number", -1}};
  };
  const auto why = error_of([&] { numbers.update(*in, one, {"number"}, late, {.attempts = 4}); });
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), errc::timed_out);
  EXPECT_NE(std::string(why->what()).find("4 attempts"), std::string::npos) << why->what();
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(number(*in), 4);
  EXPECT_EQ(error_of([&] { numbers.update(*in, one, {"number"}, late, {.attempts = 0}); })->code(),
            errc::invalid_argument);
}

TEST_P(versioned_rows, are_left_alone_if_nothing_is_to_be_written) {
  const auto in = db->connect();
  EXPECT_FALSE(numbers.update(*in, one, {"number"}, [](const auto&) { return std::vector<sql::field>(); }));
  EXPECT_EQ(numbers.load(*in, one, {})->version, 0);
  EXPECT_THROW(
      numbers.update(*in, one, {}, [](const auto&) -> std::vector<sql::field> { throw std::runtime_error("mine"); }),
      std::runtime_error);
}

TEST_P(versioned_rows, are_not_updated_inside_a_transaction) {
  const auto in = db->connect();
  sql::run(*in, "BEGIN");
  const auto write = [](const auto& seen) { return std::vector<sql::field>{{"number", next(seen)}}; };
  const auto why = error_of([&] { numbers.update(*in, one, {"number"}, write); });
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), errc::invalid_argument);
  EXPECT_TRUE(numbers.compare_exchange(*in, one, 0, {{"number", 3}})) << "the single step is allowed";
  sql::run(*in, "ROLLBACK");
  EXPECT_EQ(number(*in), 0);
}

TEST_P(versioned_rows, need_a_key_that_names_one) {
  const auto in = db->connect();
  sql::run(*in, "INSERT INTO numbers(id, number) VALUES(2, 0)");
  const auto several = [&](const sql::versioned_table::key& which) {
    return error_of([&] { numbers.load(*in, which, {}); })->code();
  };
  EXPECT_EQ(several({{"number", 0}}), errc::invalid_argument);
  EXPECT_EQ(several({}), errc::invalid_argument);
  EXPECT_EQ(several({{"id", nullptr}}), errc::invalid_argument);
  EXPECT_TRUE(numbers.load(*in, {{"number", 0}, {"id", 2}}, {}));
}

TEST_P(versioned_rows, may_have_any_names_and_values) {
  const auto in = db->connect();
  const std::string table = "we\"ird `t'able`; DROP TABLE numbers; --";
  const std::string column = "Or\"der` = 1";
  const std::string version = "ver sion?$1";
  const auto quoted = [&](const std::string& name) {
    const char quote = db->postgresql() ? '"' : '`';
    std::string made(1, quote);
    for (const char c : name) made.append(c == quote ? 2 : 1, c);
    return made + quote;
  };
  sql::run(*in, "CREATE TABLE " + quoted(table) + "(id bigint PRIMARY KEY, " + quoted(column) + " text, raw " +
                    (db->postgresql() ? "bytea" : "longblob") + ", " + quoted(version) + " bigint NOT NULL DEFAULT 0)");
  sql::run(*in, "INSERT INTO " + quoted(table) + "(id) VALUES(" + place(1) + ")", {1});
  const sql::versioned_table odd(
      {.table = table, .schema = db->postgresql() ? "public" : "holdfast", .version = version});
  EXPECT_EQ(odd.load(*in, one, {column, "raw"})->values, (sql::row{std::nullopt, std::nullopt}));

  const std::string text = "'; DROP TABLE numbers; -- \\ ünï";
  std::string bytes(300, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i);
  ASSERT_TRUE(odd.compare_exchange(*in, one, 0, {{column, text}, {"raw", sql::value::bytes(bytes)}}));
  EXPECT_EQ(odd.load(*in, one, {column, "raw"})->values, (sql::row{text, bytes}));
  ASSERT_TRUE(odd.compare_exchange(*in, one, 1, {{column, nullptr}}));
  EXPECT_EQ(odd.load(*in, one, {column})->values, (sql::row{std::nullopt}));
  EXPECT_EQ(number(*in), 0) << "the table is still there";
}

TEST_P(versioned_rows, say_what_the_database_says) {
  const auto in = db->connect();
  const sql::versioned_table gone({.table = "no_such_table"});
  try {
    gone.load(*in, one, {});
    FAIL();
  } catch (const sql::statement_failed& why) {
    EXPECT_EQ(why.code(), errc::rejected);
    EXPECT_EQ(why.native(), db->postgresql() ? "42P01" : "1146");
    EXPECT_FALSE(why.retryable());
    EXPECT_NE(why.detail().find("no_such_table"), std::string::npos) << why.detail();
  }
}

}  // namespace
}  // namespace holdfast::testing
