#include "mysql.hpp"
#include "postgresql.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/holder_process.hpp>
#include <holdfast/testing/mariadb_server.hpp>
#include <holdfast/testing/postgres_server.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

// ShedLock's table as others find it, with either database. That ShedLock itself agrees is in tests/interop.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

enum class database { postgresql, mariadb };

}  // namespace

class shedlock_table : public ::testing::TestWithParam<database> {
 protected:
  shedlock_table() {
    if (GetParam() == database::postgresql)
      postgres_.emplace();
    else
      mariadb_.emplace();
  }

  std::string url(const std::string& more = "", const std::string& user = "") const {
    const std::string options = "?layout=shedlock" + more;
    if (postgres_) return postgres_->url(options, user.empty() ? "postgres" : user);
    return mariadb_->url(options, user.empty() ? "root" : user);
  }
  std::string query(const std::string& text) const {
    return postgres_ ? postgres_->query(text) : mariadb_->query("USE holdfast; " + text);
  }
  /// What each says: the one or the other.
  std::string either(const char* postgresql, const char* mysql) const { return postgres_ ? postgresql : mysql; }
  std::string now() const { return either("timezone('utc', clock_timestamp())", "UTC_TIMESTAMP(3)"); }
  std::string in_seconds(int n) const {
    const std::string count = std::to_string(n);
    return now() + (postgres_ ? " + interval '" + count + " seconds'" : " + INTERVAL " + count + " SECOND");
  }
  /// As somebody else's client writes it.
  void insert(const std::string& name, int seconds) const {
    query("INSERT INTO shedlock(name, lock_until, locked_at, locked_by) VALUES('" + name + "', " + in_seconds(seconds) +
          ", " + now() + ", 'java.example')");
  }
  bool is_true(const std::string& condition) const {
    return query("SELECT count(*) FROM shedlock WHERE " + condition) == "1";
  }
  std::string script(const std::string& role) const {
    auto which = sql::beside_shedlock("shedlock", either("public", ""));
    if (postgres_) return sql::postgresql::script(*which, role);
    which->collation = sql::mysql::usual_collation;
    return sql::mysql::script(*which, role);
  }

  std::optional<postgres_server> postgres_;
  std::optional<mariadb_server> mariadb_;
};

TEST_P(shedlock_table, a_lock_stands_in_its_row_and_the_row_stays) {
  client c = connect(url());
  query("ALTER TABLE shedlock ADD note varchar(10) DEFAULT 'theirs'");
  mutex m(c, "job");
  lease held = m.acquire({.ttl = 20s});
  EXPECT_TRUE(is_true("name = 'job' AND lock_until > " + in_seconds(10) + " AND lock_until < " + in_seconds(21)));
  EXPECT_TRUE(is_true("locked_at <= " + in_seconds(1) + " AND locked_at > " + in_seconds(-10)));
  EXPECT_TRUE(is_true("length(locked_by) > 33 AND length(locked_by) <= 255 AND note = 'theirs'"));
  const std::string first = query("SELECT locked_by FROM shedlock");
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(is_true("lock_until <= " + now() + " AND note = 'theirs'"));
  const lease again = m.acquire();
  EXPECT_NE(query("SELECT locked_by FROM shedlock"), first) << "each claim has a name of its own";
}

TEST_P(shedlock_table, a_row_of_somebody_else_keeps_us_out_as_long_as_it_says) {
  client c = connect(url());
  insert("job", 3);
  mutex m(c, "job");
  EXPECT_FALSE(m.try_acquire());
  EXPECT_TRUE(throws(errc::timed_out, [&] { return m.acquire({.wait = 300ms}); }));
  const lease held = m.acquire({.wait = live_timeout});
  EXPECT_TRUE(is_true("locked_by <> 'java.example'"));
}

TEST_P(shedlock_table, a_row_that_is_deleted_by_hand_is_made_again_and_tokens_go_on) {
  mutex m(connect(url()), "job");
  std::uint64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    const lease held = m.acquire();
    EXPECT_GT(held.token().value(), last);
    last = held.token().value();
    query("DELETE FROM shedlock");
  }
}

TEST_P(shedlock_table, a_lease_whose_row_somebody_changed_is_lost) {
  mutex m(connect(url()), "job");
  lease held = m.acquire();
  query("UPDATE shedlock SET locked_by = 'java.example'");
  EXPECT_TRUE(failed(errc::lost, held.renew()));
  EXPECT_FALSE(m.try_acquire()) << "it is theirs now";
}

TEST_P(shedlock_table, names_of_more_than_64_characters_are_refused) {
  client c = connect(url());
  std::string longest;
  for (int i = 0; i < 64; ++i) longest += "\u9501";
  EXPECT_TRUE(mutex(c, longest).try_acquire());
  mutex too_long(c, longest + "x");
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { return too_long.try_acquire(); }));
  EXPECT_NE(error_text([&] { return too_long.acquire(); }).find("up to 64"), std::string::npos);
}

TEST_P(shedlock_table, what_was_released_early_is_kept_for_at_least_as_long_as_was_asked) {
  client keeps = connect(url("&at-least=2s"));
  mutex m(keeps, "job");
  lease held = m.acquire();
  ASSERT_TRUE(succeeded(held.release()));
  mutex other(connect(url()), "job");
  EXPECT_FALSE(other.try_acquire());
  EXPECT_TRUE(is_true("lock_until > locked_at + " + either("interval '1.9 seconds'", "INTERVAL 1900000 MICROSECOND")));
  EXPECT_TRUE(is_true("lock_until <= locked_at + " + either("interval '2 seconds'", "INTERVAL 2 SECOND")));
  const lease later = other.acquire({.wait = live_timeout});
  EXPECT_TRUE(is_true("lock_until > " + now()));
}

TEST_P(shedlock_table, a_renewal_that_comes_after_the_release_does_not_take_it_again) {
  mutex m(connect(url("&at-least=20s")), "job");
  lease held = m.acquire();
  ASSERT_TRUE(succeeded(held.release()));
  const std::string owner = query("SELECT right(locked_by, 32) FROM shedlock");
  EXPECT_EQ(query(postgres_ ? "SELECT shedlock_holdfast_renew('job', decode('" + owner + "', 'hex'), 3600000000)"
                            : "CALL shedlock_holdfast_renew('job', x'" + owner + "', 3600000000)"),
            "0");
  EXPECT_TRUE(is_true("lock_until < " + in_seconds(21)));
}

TEST_P(shedlock_table, a_request_that_is_sent_again_finds_its_own_grant) {
  static_cast<void>(connect(url()));
  const std::string owner = "00112233445566778899aabbccddeeff";
  const std::string id = postgres_ ? "decode('" + owner + "', 'hex')" : "x'" + owner + "'";
  // name, kind, owner, access, permits, limit, tokens, ttl, queue, patience, client, holder, memory, last
  const std::string enter = "shedlock_holdfast_enter('job', 1, " + id + ", 1, 1, 1, 3, 60000000, 0, 0, 0, '1', 0, 0)";
  const std::string asked = postgres_ ? "SELECT o_what, o_token, o_tokens FROM " + enter : "CALL " + enter;
  const auto first = query(asked);
  const auto again = query(asked);
  const auto token = [](const std::string& answer) { return answer.substr(0, 18); };
  EXPECT_EQ(token(first), token(again)) << first << " and " << again;
  EXPECT_EQ(first.front(), '1') << first;
  EXPECT_EQ(query("SELECT count(*) FROM shedlock"), "1");
}

TEST_P(shedlock_table, a_release_wakes_the_next_of_ours_long_before_it_would_look) {
  holder_process holder = holder_process::connected(url(), 20s);
  holder.granted("acquire mutex job");
  client c = connect(url());
  mutex m(c, "job");
  auto waits = m.async_acquire();
  ASSERT_TRUE(eventually([&] { return !c.inspect("job").empty() && c.inspect("job").front().waiters.size() == 1; }));
  EXPECT_EQ(holder.ask("release"), "ok");
  EXPECT_TRUE(waits.get().valid());
}

TEST_P(shedlock_table, who_may_make_no_tables_is_told_what_to_do_and_then_needs_no_such_right) {
  query(either("CREATE ROLE app LOGIN", "CREATE USER app; GRANT CREATE TEMPORARY TABLES ON holdfast.* TO app"));
  const std::string why = error_text([&] { return connect(url("", "app")); });
  EXPECT_NE(why.find("--layout shedlock"), std::string::npos) << why;
  query(script("app"));
  query(script("app"));
  client c = connect(url("", "app"));
  mutex m(c, "job");
  lease held = m.acquire();
  EXPECT_TRUE(succeeded(held.renew()));
  EXPECT_EQ(c.inspect().size(), 1u);
  EXPECT_TRUE(c.evict("job"));
}

TEST_P(shedlock_table, a_table_that_cannot_keep_locks_is_refused) {
  const auto refusal = [&](const std::string& until) {
    query("DROP TABLE IF EXISTS shedlock; CREATE TABLE shedlock(name varchar(64) PRIMARY KEY, " + until +
          " locked_at " + either("timestamp", "datetime(3)") + " NOT NULL, locked_by varchar(255) NOT NULL)");
    EXPECT_TRUE(throws(errc::rejected, [&] { return connect(url()); }));
    return error_text([&] { return connect(url()); });
  };
  const std::string coarse = refusal("lock_until " + either("timestamptz", "timestamp") + " NOT NULL,");
  EXPECT_NE(coarse.find("'lock_until'"), std::string::npos) << coarse;
  EXPECT_NE(coarse.find("millisecond"), std::string::npos) << coarse;
  const std::string missing = refusal("");
  EXPECT_NE(missing.find("is not there"), std::string::npos) << missing;
}

TEST_P(shedlock_table, another_table_is_another_store) {
  query("CREATE " + either("SCHEMA", "DATABASE") + " jobs");
  mutex here(connect(url()), "job");
  client c = connect(url("&table=jobs.Locks"));
  mutex there(c, "job");
  const lease one = here.acquire();
  const lease other = there.acquire();
  EXPECT_EQ(query("SELECT count(*) FROM jobs." + either("locks", "Locks")), "1");
  EXPECT_EQ(c.inspect().size(), 1u);
}

TEST_P(shedlock_table, doctor_finds_a_client_with_a_clock_of_its_own) {
  client c = connect(url());
  const auto dangers = [&] {
    const auto all = c.examine();
    return std::count_if(all.begin(), all.end(), [](const finding& f) {
      return f.how == finding::level::danger && f.text.find("usingDbTime()") != std::string::npos;
    });
  };
  insert("job", 30);
  EXPECT_EQ(dangers(), 0);
  query("UPDATE shedlock SET locked_at = " + in_seconds(3600) + ", lock_until = " + in_seconds(7200));
  EXPECT_EQ(dangers(), 1);
}

TEST_P(shedlock_table, names_that_its_collation_takes_for_equal_are_one_lock) {
  if (postgres_) GTEST_SKIP() << "PostgreSQL compares the bytes";
  query(
      "CREATE TABLE shedlock(name varchar(64) COLLATE utf8mb4_general_ci NOT NULL PRIMARY KEY, lock_until timestamp(3) "
      "NOT NULL, locked_at timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), locked_by varchar(255) NOT NULL)");
  client c = connect(url());
  mutex one(c, "Job");
  mutex other(c, "job");
  {
    const lease held = one.acquire();
    EXPECT_FALSE(other.try_acquire());
  }
  EXPECT_TRUE(other.try_acquire({.wait = live_timeout}));
  query("ALTER TABLE shedlock MODIFY name varchar(64) COLLATE utf8mb4_bin NOT NULL");
  client again = connect(url());
  mutex first(again, "Job");
  const lease held = first.acquire({.wait = live_timeout});
  EXPECT_TRUE(mutex(again, "job").try_acquire()) << "the routines are made for the collation there is";
}

INSTANTIATE_TEST_SUITE_P(on, shedlock_table, ::testing::Values(database::postgresql, database::mariadb),
                         [](const auto& test) {
                           return test.param == database::postgresql ? "postgresql" : "mariadb";
                         });

}  // namespace holdfast::testing
