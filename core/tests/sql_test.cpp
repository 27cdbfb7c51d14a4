// holdfast::sql without a server: what is sent, what errors mean, what is tried again.
#include <holdfast/sql.hpp>

#include "sql/refusal.hpp"
#include "sql/text.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace holdfast::sql {
namespace {

/// Says what it is told to, and remembers what it was asked.
class scripted final : public connection {
 public:
  explicit scripted(flavour as) : as_(as) {}

  flavour speaks() const override { return as_; }
  transaction_state state() override { return now; }
  reply execute(const std::string& statement, const std::vector<value>& values) override {
    asked.push_back(statement);
    given.push_back(values);
    if (statement == "BEGIN") now = transaction_state::open;
    if (statement == "COMMIT" || statement == "ROLLBACK") now = transaction_state::none;
    if (answers.empty()) return {};
    reply next = std::move(answers.front());
    answers.pop_front();
    return next;
  }

  transaction_state now = transaction_state::none;
  std::deque<reply> answers;
  std::vector<std::string> asked;
  std::vector<std::vector<value>> given;

 private:
  flavour as_;
};

reply refused(std::string code) { return {{}, 0, refusal{std::move(code), "words"}}; }
reply affected(std::uint64_t rows) { return {{}, rows, std::nullopt}; }

std::error_code code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const error& why) {
    return why.code();
  }
  return {};
}

TEST(sql_text, quotes_names_as_each_database_does) {
  EXPECT_EQ(detail::quoted(flavour::postgresql, "a\"b`c"), "\"a\"\"b`c\"");
  EXPECT_EQ(detail::quoted(flavour::mysql, "a\"b`c"), "`a\"b``c`");
  EXPECT_EQ(detail::quoted(flavour::mariadb, "Order"), "`Order`");
  EXPECT_EQ(detail::quoted_table(flavour::postgresql, "s", "t"), "\"s\".\"t\"");
  EXPECT_EQ(detail::quoted_table(flavour::postgresql, "", "t"), "\"t\"");
}

TEST(sql_text, refuses_names_that_no_quotes_can_make_one) {
  const auto invalid = make_error_code(errc::invalid_argument);
  EXPECT_EQ(code_of([] { detail::check_identifier("", "table"); }), invalid);
  EXPECT_EQ(code_of([] { detail::check_identifier(std::string_view("a\0b", 3), "table"); }), invalid);
  EXPECT_EQ(code_of([] { versioned_table({.table = ""}); }), invalid);
  EXPECT_EQ(code_of([] { fenced_table({.table = "t", .fence = ""}); }), invalid);
}

TEST(sql_text, keeps_values_out_of_statements) {
  scripted in(flavour::postgresql);
  in.answers.push_back(affected(1));
  const versioned_table stock({.table = "stock", .schema = "shop"});
  EXPECT_TRUE(stock.compare_exchange(in, {{"id", 7}, {"lang", "it's"}}, 3, {{"units", 9}, {"note", nullptr}}));
  EXPECT_EQ(in.asked.at(0),
            "UPDATE \"shop\".\"stock\" SET \"units\" = $1, \"note\" = $2, \"version\" = \"version\" + 1 "
            "WHERE \"id\" = $3 AND \"lang\" = $4 AND \"version\" = $5");
  ASSERT_EQ(in.given.at(0).size(), 5U);
  EXPECT_EQ(in.given[0][0].text(), "9");
  EXPECT_EQ(in.given[0][1].is(), value::form::null);
  EXPECT_EQ(in.given[0][3].text(), "it's");
}

TEST(sql_text, has_the_token_twice_in_a_fenced_write) {
  scripted in(flavour::mariadb);
  in.answers.push_back(affected(1));
  const fenced_table stock({.table = "stock"});
  EXPECT_EQ(stock.write(in, {{"id", 7}}, 12, {{"units", 9}}), admission::admitted);
  EXPECT_EQ(in.asked.at(0), "UPDATE `stock` SET `units` = ?, `fence` = ? WHERE `id` = ? AND `fence` <= ?");
  EXPECT_EQ(in.given.at(0).at(1).text(), "12");
  EXPECT_EQ(in.given.at(0).at(3).text(), "12");
}

TEST(sql_values, know_their_form) {
  EXPECT_EQ(value(-1).is(), value::form::integer);
  EXPECT_EQ(value(std::uint64_t{1} << 63).text(), "9223372036854775808");
  EXPECT_EQ(value(1U).is(), value::form::unsigned_integer);
  EXPECT_EQ(value("x").is(), value::form::text);
  EXPECT_EQ(value::bytes("x").is(), value::form::bytes);
}

TEST(sql_refusals, mean_what_the_table_says) {
  struct expected {
    flavour from;
    const char* native;
    errc code;
    bool retryable;
  };
  for (const auto& one : std::vector<expected>{
           {flavour::postgresql, "40P01", errc::deadlock, true},
           {flavour::postgresql, "40001", errc::unavailable, true},
           {flavour::postgresql, "55P03", errc::timed_out, false},
           {flavour::postgresql, "57014", errc::cancelled, false},
           {flavour::postgresql, "57P01", errc::unavailable, false},
           {flavour::postgresql, "08006", errc::unavailable, false},
           {flavour::postgresql, "25006", errc::unavailable, false},
           {flavour::postgresql, "23505", errc::rejected, false},
           {flavour::postgresql, "", errc::unavailable, false},
           {flavour::mariadb, "1213", errc::deadlock, true},
           {flavour::mysql, "3058", errc::deadlock, true},
           {flavour::mariadb, "1020", errc::unavailable, true},
           {flavour::mariadb, "1205", errc::timed_out, false},
           {flavour::mysql, "3572", errc::timed_out, false},
           {flavour::mariadb, "1969", errc::timed_out, false},
           {flavour::mariadb, "1317", errc::cancelled, false},
           {flavour::mariadb, "2013", errc::unavailable, false},
           {flavour::mariadb, "1062", errc::rejected, false},
           {flavour::mariadb, "12", errc::rejected, false},
       }) {
    const statement_failed why(one.from, {one.native, "two\nlines\n"}, "run", {});
    EXPECT_EQ(why.code(), one.code) << one.native;
    EXPECT_EQ(why.retryable(), one.retryable) << one.native;
    EXPECT_EQ(why.native(), one.native);
    EXPECT_NE(why.detail().find("two lines"), std::string::npos) << why.detail();
    EXPECT_NE(why.detail().find(one.native), std::string::npos) << why.detail();
  }
}

TEST(sql_transact, commits_what_went_well) {
  scripted in(flavour::postgresql);
  EXPECT_EQ(transact(in, [](connection&) { return true; }), 1U);
  EXPECT_EQ(in.asked, (std::vector<std::string>{"BEGIN", "COMMIT"}));
}

TEST(sql_transact, tries_again_what_the_commit_could_not_put_in_order) {
  scripted in(flavour::postgresql);
  in.answers = {reply(), refused("40001")};
  EXPECT_EQ(transact(in, [](connection&) { return true; }), 2U);
  EXPECT_EQ(in.asked, (std::vector<std::string>{"BEGIN", "COMMIT", "BEGIN", "COMMIT"}));
}

TEST(sql_transact, does_not_try_again_when_nobody_knows_what_became_of_it) {
  scripted in(flavour::mariadb);
  in.answers = {reply(), refused("2013")};
  int calls = 0;
  EXPECT_EQ(code_of([&] {
              transact(in, [&](connection&) {
                ++calls;
                return true;
              });
            }),
            make_error_code(errc::unavailable));
  EXPECT_EQ(calls, 1);
}

TEST(sql_update, does_not_try_again_when_the_connection_broke) {
  scripted in(flavour::postgresql);
  in.answers = {reply{{{"3", "5"}}, 0, std::nullopt}, refused("")};
  const versioned_table stock({.table = "stock"});
  const auto write = [](const versioned_table::snapshot&) { return std::vector<field>{{"units", 1}}; };
  EXPECT_EQ(code_of([&] { stock.update(in, {{"id", 1}}, {"units"}, write); }), make_error_code(errc::unavailable));
  EXPECT_EQ(in.asked.size(), 2U);
}

TEST(sql_update, tries_again_as_a_deadlock_victim) {
  scripted in(flavour::mariadb);
  const reply seen{{{"3", "5"}}, 0, std::nullopt};
  in.answers = {seen, refused("1213"), seen, affected(1)};
  const versioned_table stock({.table = "stock"});
  const auto write = [](const versioned_table::snapshot&) { return std::vector<field>{{"units", 1}}; };
  EXPECT_EQ(stock.update(in, {{"id", 1}}, {"units"}, write), 4);
}

TEST(sql_row_lock, is_lost_where_the_server_rolls_all_back_on_timeout) {
  scripted in(flavour::mariadb);
  in.now = transaction_state::open;
  struct ending final : connection {
    flavour speaks() const override { return flavour::mariadb; }
    transaction_state state() override { return asked ? transaction_state::none : transaction_state::open; }
    reply execute(const std::string&, const std::vector<value>&) override {
      asked = true;
      return refused("1205");
    }
    bool asked = false;
  } rolled_back;
  EXPECT_EQ(code_of([&] { static_cast<void>(try_acquire_in_transaction(rolled_back, "a")); }),
            make_error_code(errc::lost));
  // With autocommit = 0 the next transaction is open by then.
  in.answers = {refused("1205"), reply{.rows = {{"1"}}}};
  EXPECT_EQ(code_of([&] { static_cast<void>(try_acquire_in_transaction(in, "a")); }), make_error_code(errc::lost));
  in.asked.clear();
  in.answers = {refused("1205"), reply{.rows = {{"0"}}}};
  EXPECT_FALSE(try_acquire_in_transaction(in, "a"));
  EXPECT_TRUE(in.asked.at(0).starts_with(
      "SET STATEMENT innodb_lock_wait_timeout=0, max_statement_time=0.000000 FOR INSERT INTO `holdfast_locks`"))
      << in.asked.at(0);
}

}  // namespace
}  // namespace holdfast::sql
