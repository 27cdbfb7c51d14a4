// A transaction that is tried again where that is safe.
#include "database.hpp"

#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/scale.hpp>

#include <future>
#include <latch>
#include <thread>

namespace holdfast::testing {
namespace {

class transactions : public on_database {
 protected:
  void SetUp() override {
    on_database::SetUp();
    make_numbers();
  }
  void add_one(sql::connection& in) const {
    sql::run(in, "UPDATE numbers SET number = " + place(1) + " WHERE id = 1", {number(in) + 1});
  }
};
INSTANTIATE_TEST_SUITE_P(sql, transactions, ::testing::Values("postgresql", "mariadb"),
                         [](const auto& one) { return one.param; });

TEST_P(transactions, are_tried_again_until_the_version_holds) {
  const sql::versioned_table numbers({.table = "numbers"});
  constexpr int threads = 8;
  const int rounds = scaled(30);
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i) {
      all.emplace_back([&] {
        const auto in = db->connect();
        for (int round = 0; round < rounds; ++round) {
          const auto tries =
              sql::transact(*in,
                            [&](sql::connection& s) {
                              const auto seen = numbers.load(s, {{"id", 1}}, {"number"});
                              return numbers.compare_exchange(s, {{"id", 1}}, seen->version,
                                                              {{"number", std::stoll(*seen->values.at(0)) + 1}});
                            },
                            {.attempts = 100'000});
          EXPECT_GE(tries, 1U);
        }
      });
    }
  }
  EXPECT_EQ(number(*db->connect()), threads * rounds);
}

TEST_P(transactions, that_deadlock_are_tried_again) {
  const auto in = db->connect();
  sql::run(*in, "INSERT INTO numbers(id, number) VALUES(2, 0)");
  std::latch both(2);
  std::atomic<unsigned> tries{0};
  const auto work = [&](int first, int second) {
    const auto own = db->connect();
    bool again = false;
    tries += sql::transact(*own, [&](sql::connection& s) {
      sql::run(s, "UPDATE numbers SET number = number + 1 WHERE id = " + place(1), {first});
      if (!std::exchange(again, true)) both.arrive_and_wait();
      sql::run(s, "UPDATE numbers SET number = number + 1 WHERE id = " + place(1), {second});
      return true;
    });
  };
  {
    std::jthread one([&] { work(1, 2); });
    std::jthread two([&] { work(2, 1); });
  }
  EXPECT_GE(tries, 3U) << "one of the two had to do it twice";
  EXPECT_EQ(number(*in), 2);
}

TEST_P(transactions, of_the_strictest_kind_lose_no_update) {
  constexpr int threads = 4;
  const int rounds = scaled(25);
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i) {
      all.emplace_back([&] {
        const auto in = db->connect();
        sql::run(*in, db->postgresql() ? "SET default_transaction_isolation = 'serializable'"
                                       : "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
        for (int round = 0; round < rounds; ++round)
          sql::transact(*in,
                        [&](sql::connection& s) {
                          add_one(s);
                          return true;
                        },
                        {.attempts = 100'000});
      });
    }
  }
  EXPECT_EQ(number(*db->connect()), threads * rounds);
}

TEST_P(transactions, are_rolled_back_with_what_the_work_throws) {
  const auto in = db->connect();
  int calls = 0;
  EXPECT_THROW(sql::transact(*in,
                             [&](sql::connection& s) -> bool {
                               ++calls;
                               add_one(s);
                               throw std::runtime_error("mine");
                             }),
               std::runtime_error);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(in->state(), sql::transaction_state::none);
  EXPECT_EQ(number(*in), 0);
}

TEST_P(transactions, do_not_retry_what_would_fail_again) {
  const auto in = db->connect();
  int calls = 0;
  const auto why = error_of([&] {
    sql::transact(*in, [&](sql::connection& s) {
      ++calls;
      sql::run(s, "SELECT nonsense FROM numbers");
      return true;
    });
  });
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), errc::rejected);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(in->state(), sql::transaction_state::none);
}

TEST_P(transactions, give_up_at_the_limit_and_leave_nothing) {
  const auto in = db->connect();
  int calls = 0;
  const auto why = error_of([&] {
    sql::transact(*in,
                  [&](sql::connection& s) {
                    ++calls;
                    add_one(s);
                    return false;
                  },
                  {.attempts = 3});
  });
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), errc::timed_out);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(number(*in), 0);
}

TEST_P(transactions, do_not_take_a_failed_one_for_committed) {
  const auto in = db->connect();
  const auto ended = [&](const std::string& by) {
    return error_of([&] {
      sql::transact(*in, [&](sql::connection& s) {
        add_one(s);
        s.execute(by, {});
        return true;
      });
    });
  };
  ASSERT_TRUE(ended("ROLLBACK"));
  if (db->postgresql()) {
    ASSERT_TRUE(ended("SELECT nonsense"));
  }
  EXPECT_EQ(number(*in), 0);
}

TEST_P(transactions, are_not_begun_inside_another) {
  const auto in = db->connect();
  sql::run(*in, "BEGIN");
  EXPECT_EQ(error_of([&] { sql::transact(*in, [](sql::connection&) { return true; }); })->code(),
            errc::invalid_argument);
  EXPECT_EQ(in->state(), sql::transaction_state::open);
}

TEST_P(transactions, end_with_their_connection) {
  const auto in = db->connect();
  const std::string number_of_it = db->number_of(*in);
  int calls = 0;
  const auto why = error_of([&] {
    sql::transact(*in, [&](sql::connection& s) {
      ++calls;
      add_one(s);
      db->end(number_of_it);
      return true;
    });
  });
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), errc::unavailable) << why->what();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(number(*db->connect()), 0);
}

}  // namespace
}  // namespace holdfast::testing
