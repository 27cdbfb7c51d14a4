// The lock of a name inside the caller's transaction.
#include "database.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/scale.hpp>

#include <future>
#include <mutex>
#include <thread>

namespace holdfast::testing {
namespace {

using namespace std::chrono_literals;

class row_lock : public on_database {
 protected:
  void SetUp() override {
    on_database::SetUp();
    make_tables();
    make_numbers();
  }
};
INSTANTIATE_TEST_SUITE_P(sql, row_lock, ::testing::Values("postgresql", "mariadb", "mysql"),
                         [](const auto& one) { return one.param; });

TEST_P(row_lock, ends_with_the_transaction_and_tokens_grow) {
  const auto first = db->connect();
  const auto second = db->connect();
  std::uint64_t last = 0;
  for (const char* end : {"COMMIT", "ROLLBACK", "COMMIT"}) {
    sql::run(*first, "BEGIN");
    sql::run(*second, "BEGIN");
    const auto token = sql::acquire_in_transaction(*first, "orders/42");
    EXPECT_GT(token.value(), last);
    EXPECT_FALSE(sql::try_acquire_in_transaction(*second, "orders/42"));
    EXPECT_TRUE(sql::try_acquire_in_transaction(*second, "orders/43")) << "another name is another row";
    sql::run(*first, end);
    const auto next = sql::try_acquire_in_transaction(*second, "orders/42");
    ASSERT_TRUE(next) << end;
    EXPECT_GT(*next, token) << end;
    last = next->value();
    sql::run(*second, "ROLLBACK");
  }
}

TEST_P(row_lock, may_be_taken_again_by_the_same_transaction) {
  const auto in = db->connect();
  sql::run(*in, "BEGIN");
  const auto token = sql::acquire_in_transaction(*in, "twice");
  EXPECT_GT(sql::acquire_in_transaction(*in, "twice"), token);
}

TEST_P(row_lock, is_refused_where_no_transaction_is_open) {
  const auto in = db->connect();
  const auto why = error_of([&] { sql::acquire_in_transaction(*in, "orders/42"); });
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), errc::invalid_argument);
  EXPECT_NE(std::string(why->what()).find("no transaction is open"), std::string::npos) << why->what();
}

TEST_P(row_lock, a_wait_that_times_out_leaves_the_transaction_alive) {
  const auto first = db->connect();
  const auto second = db->connect();
  sql::run(*first, "BEGIN");
  sql::acquire_in_transaction(*first, "orders/42");
  sql::run(*second, "BEGIN");
  sql::run(*second, "INSERT INTO numbers(id, number) VALUES(2, 20)");
  const auto taken =
      time_taken([&] { EXPECT_FALSE(sql::try_acquire_in_transaction(*second, "orders/42", {.wait = 150ms})); });
  EXPECT_GE(taken, 150ms);
  const auto why = error_of([&] { sql::acquire_in_transaction(*second, "orders/42", {.wait = 1ms}); });
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), errc::timed_out);
  sql::run(*second, "INSERT INTO numbers(id, number) VALUES(3, 30)");
  sql::run(*second, "COMMIT");
  EXPECT_EQ(text(*second, "SELECT count(*) FROM numbers WHERE id IN (2, 3)"), "2");
}

TEST_P(row_lock, waits_until_the_holder_commits_however_short_the_callers_limits_are) {
  const auto first = db->connect();
  const auto second = db->connect();
  sql::run(*first, "BEGIN");
  const auto token = sql::acquire_in_transaction(*first, "orders/42");
  const std::string waiter = db->number_of(*second);
  sql::run(*second, db->postgresql() ? "SET lock_timeout = '50ms'" : "SET SESSION innodb_lock_wait_timeout = 0");
  auto got = std::async(std::launch::async, [&] {
    sql::run(*second, "BEGIN");
    return sql::acquire_in_transaction(*second, "orders/42");
  });
  ASSERT_TRUE(eventually([&] { return db->waits(waiter); }));
  EXPECT_EQ(got.wait_for(short_wait), std::future_status::timeout);
  sql::run(*first, "COMMIT");
  EXPECT_GT(got.get(), token);
}

TEST_P(row_lock, comes_free_when_the_holders_connection_is_killed) {
  const auto first = db->connect();
  const auto second = db->connect();
  sql::run(*first, "BEGIN");
  const auto token = sql::acquire_in_transaction(*first, "orders/42");
  sql::run(*second, "BEGIN");
  auto got = std::async(std::launch::async, [&] { return sql::acquire_in_transaction(*second, "orders/42"); });
  db->end(db->number_of(*first));
  EXPECT_GT(got.get(), token);
  const auto why = error_of([&] { sql::acquire_in_transaction(*first, "orders/42"); });
  ASSERT_TRUE(why);
  // The driver may know by now that there is no connection, and so no transaction.
  EXPECT_TRUE(why->code() == errc::unavailable || why->code() == errc::invalid_argument) << why->what();
}

TEST_P(row_lock, a_waiter_whose_connection_is_killed_hears_of_it) {
  const auto first = db->connect();
  const auto second = db->connect();
  sql::run(*first, "BEGIN");
  sql::acquire_in_transaction(*first, "orders/42");
  const std::string waiter = db->number_of(*second);
  auto got = std::async(std::launch::async, [&] {
    sql::run(*second, "BEGIN");
    return error_of([&] { sql::acquire_in_transaction(*second, "orders/42"); });
  });
  ASSERT_TRUE(eventually([&] { return db->waits(waiter); }));
  db->end(waiter);
  const auto why = got.get();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), errc::unavailable) << why->what();
}

TEST_P(row_lock, guards_what_nothing_else_does) {
  constexpr int threads = 8;
  const int rounds = scaled(40);
  std::mutex guard;
  std::vector<std::uint64_t> tokens;
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i) {
      all.emplace_back([&] {
        const auto in = db->connect();
        for (int round = 0; round < rounds; ++round) {
          sql::transact(*in, [&](sql::connection& s) {
            const auto token = sql::acquire_in_transaction(s, "numbers");
            const auto next = number(s) + 1;
            sql::run(s, "UPDATE numbers SET number = " + place(1) + " WHERE id = 1", {next});
            const std::scoped_lock alone(guard);
            tokens.push_back(token.value());
            return true;
          });
        }
      });
    }
  }
  EXPECT_EQ(number(*db->connect()), threads * rounds);
  ASSERT_EQ(tokens.size(), static_cast<std::size_t>(threads * rounds));
  EXPECT_EQ(std::adjacent_find(tokens.begin(), tokens.end(), std::greater_equal<>()), tokens.end());
}

TEST_P(row_lock, a_deadlock_is_told_and_not_tried_again) {
  const auto first = db->connect();
  const auto second = db->connect();
  for (const auto* name : {"a", "b"}) {  // the rows are there, so that nothing but the two is locked
    sql::transact(*first, [&](sql::connection& s) { return sql::try_acquire_in_transaction(s, name).has_value(); });
  }
  sql::run(*first, "BEGIN");
  sql::run(*second, "BEGIN");
  sql::acquire_in_transaction(*first, "a");
  sql::acquire_in_transaction(*second, "b");
  const auto cross = [](sql::connection& in, const char* name) -> std::optional<sql::statement_failed> {
    try {
      sql::acquire_in_transaction(in, name);
    } catch (const sql::statement_failed& why) {
      // The survivor waits until the victim lets go of what it has.
      // On PostgreSQL the savepoint has kept the rest of it.
      const bool kept = in.speaks() == sql::flavour::postgresql;
      EXPECT_EQ(in.state(), kept ? sql::transaction_state::open : sql::transaction_state::none);
      in.execute("ROLLBACK", {});
      return why;
    }
    return std::nullopt;
  };
  auto other = std::async(std::launch::async, cross, std::ref(*second), "a");
  const auto mine = cross(*first, "b");
  const auto theirs = other.get();
  ASSERT_NE(mine.has_value(), theirs.has_value()) << "one of the two";
  const auto& victim = mine ? *mine : *theirs;
  EXPECT_EQ(victim.code(), errc::deadlock) << victim.what();
  EXPECT_TRUE(victim.retryable());
  EXPECT_EQ(victim.native(), db->postgresql() ? "40P01" : "1213");
}

TEST_P(row_lock, in_a_transaction_with_an_older_snapshot_is_told_apart) {
  const auto first = db->connect();
  const auto second = db->connect();
  sql::transact(*first, [](sql::connection& t) { return sql::try_acquire_in_transaction(t, "a").has_value(); });
  sql::run(*second, db->postgresql() ? "BEGIN ISOLATION LEVEL REPEATABLE READ" : "BEGIN");
  EXPECT_EQ(number(*second), 0) << "the snapshot is from here";
  sql::transact(*first, [](sql::connection& t) { return sql::try_acquire_in_transaction(t, "a").has_value(); });
  if (!db->postgresql()) {
    EXPECT_TRUE(sql::try_acquire_in_transaction(*second, "a")) << "MySQL locks what is there now";
    return;
  }
  try {
    sql::acquire_in_transaction(*second, "a");
    FAIL();
  } catch (const sql::statement_failed& why) {
    EXPECT_EQ(why.native(), "40001");
    EXPECT_TRUE(why.retryable());
  }
  EXPECT_EQ(second->state(), sql::transaction_state::open);
}

TEST_P(row_lock, a_name_that_is_held_as_a_lease_is_refused) {
  auto store = holdfast::connect(db->url(), {.request_timeout = 1s});
  mutex m(store, "orders/42");
  auto lease = m.acquire();
  const auto in = db->connect();
  sql::run(*in, "BEGIN");
  const auto why = error_of([&] { sql::acquire_in_transaction(*in, "orders/42"); });
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), errc::rejected);
  EXPECT_NE(std::string(why->what()).find("as a lease"), std::string::npos) << why->what();
  sql::run(*in, "ROLLBACK");

  ASSERT_TRUE(lease.release());
  sql::run(*in, "BEGIN");
  EXPECT_GT(sql::acquire_in_transaction(*in, "orders/42"), lease.token()) << "one row, one line of tokens";
  bool got = true;
  try {
    got = m.try_lock();
  } catch (const holdfast::error&) {
    got = false;
  }
  EXPECT_FALSE(got);
}

TEST_P(row_lock, a_name_that_is_shared_as_a_lease_is_refused_however_old_the_snapshot_is) {
  auto store = holdfast::connect(db->url());
  shared_mutex m(store, "orders/42");
  static_cast<void>(m.acquire_shared());
  const auto in = db->connect();
  sql::run(*in, "BEGIN");
  sql::run(*in, "SELECT 1 FROM numbers");
  const auto lease = m.acquire_shared();
  const auto why = error_of([&] { sql::acquire_in_transaction(*in, "orders/42"); });
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), errc::rejected);
  sql::run(*in, "ROLLBACK");
}

TEST_P(row_lock, names_are_bytes_and_never_part_of_the_statement) {
  const auto in = db->connect();
  const auto other = db->connect();
  const std::vector<std::string> names{"it's", "\"; DROP TABLE numbers; --", "a\\b", "Ünïcode/锁", "ORDERS", "orders"};
  sql::run(*in, "BEGIN");
  for (const auto& name : names) sql::acquire_in_transaction(*in, name);
  sql::run(*other, "BEGIN");
  for (const auto& name : names) EXPECT_FALSE(sql::try_acquire_in_transaction(*other, name)) << name;
  EXPECT_TRUE(sql::try_acquire_in_transaction(*other, "Orders"));
  EXPECT_EQ(error_of([&] { sql::acquire_in_transaction(*other, "a\nb"); })->code(), errc::invalid_argument);
  EXPECT_EQ(error_of([&] { sql::acquire_in_transaction(*other, "a", {.wait = -1s}); })->code(), errc::invalid_argument);
}

class row_lock_without_tables : public on_database {};
INSTANTIATE_TEST_SUITE_P(sql, row_lock_without_tables, ::testing::Values("postgresql", "mariadb", "mysql"),
                         [](const auto& one) { return one.param; });

TEST_P(row_lock_without_tables, says_how_to_make_them_and_keeps_the_transaction) {
  make_numbers();
  const auto in = db->connect();
  sql::run(*in, "BEGIN");
  sql::run(*in, "UPDATE numbers SET number = 7 WHERE id = 1");
  const auto why = error_of([&] { sql::acquire_in_transaction(*in, "orders/42"); });
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), errc::rejected);
  EXPECT_NE(std::string(why->what()).find("holdfast ddl"), std::string::npos) << why->what();
  EXPECT_NE(std::string(why->what()).find(db->postgresql() ? "42P01" : "1146"), std::string::npos) << why->what();
  sql::run(*in, "COMMIT");
  EXPECT_EQ(number(*in), 7);
}

}  // namespace
}  // namespace holdfast::testing
