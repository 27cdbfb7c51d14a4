#include "sqlite_fixture.hpp"

#include <sqlite3.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace holdfast::sqlite_tests {

class boot_test : public sqlite_test {
 protected:
  void execute(const char* sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  std::int64_t ask(const char* sql) {
    sqlite3* db = nullptr;
    sqlite3_open(path().c_str(), &db);
    sqlite3_stmt* question = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db, sql, -1, &question, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_step(question);
    const auto value = sqlite3_column_int64(question, 0);
    sqlite3_finalize(question);
    sqlite3_close(db);
    return value;
  }
};

TEST_F(boot_test, after_a_reboot_nobody_holds_anything_and_tokens_are_far_above) {
  std::uint64_t before = 0;
  {
    auto a = client();
    before = a->take(mutex_claim("m")).first_token.value();
    a->take(shared_claim("rw", spi::access::shared));
    a->queue(mutex_claim("m"));
    a->count("s", spi::kind::semaphore, spi::count_request::op::set_if_unset, 3);
  }
  execute("UPDATE meta SET value = 'another boot' WHERE key = 'boot'");
  auto b = client();
  EXPECT_TRUE(b->inspect().empty());
  const auto far_above = before + (std::uint64_t{1} << 31);
  EXPECT_GT(b->take(mutex_claim("m")).first_token.value(), far_above);
  EXPECT_GT(b->take(mutex_claim("new")).first_token.value(), far_above) << "a name that may have been lost, too";
  EXPECT_EQ(b->count("s", spi::kind::semaphore, spi::count_request::op::get)->value, 3) << "permits have no owner";
}

TEST_F(boot_test, the_same_boot_forgets_nothing) {
  const auto held = mutex_claim("m");
  auto a = client();
  const auto token = a->take(held).first_token;
  auto b = client();
  ASSERT_EQ(b->inspect().size(), 1U);
  EXPECT_EQ(b->inspect()[0].holders[0].token, token);
}

TEST_F(boot_test, clients_that_end_leave_no_row_and_the_log_does_not_grow_for_ever) {
  for (int i = 0; i < 300; ++i) {
    auto a = client();
    const auto c = mutex_claim("m");
    a->take(c);
    a->leave(c);
  }
  EXPECT_LT(std::filesystem::file_size(path() + "-wal"), 400U * 1024);
  EXPECT_EQ(ask("SELECT count(*) FROM session"), 0);
}

TEST_F(boot_test, names_nobody_uses_are_forgotten_but_never_their_tokens) {
  auto a = client();
  const auto kept = mutex_claim("a/kept", 24h);
  a->take(kept);
  const auto first = mutex_claim("name/0");
  const auto token = a->take(first, 1000).first_token.value();
  a->leave(first);
  const auto use = [&](const std::string& name) {
    const auto c = mutex_claim(name);
    a->take(c);
    a->leave(c);
  };
  for (int i = 1; i < 1500; ++i) use("name/" + std::to_string(i));
  clock_.advance(2h);
  for (int i = 0; i < 3000; ++i) use("other/" + std::to_string(i));
  EXPECT_TRUE(eventually([&] { return ask("SELECT count(*) FROM lock WHERE name LIKE 'name/%'") < 1000; }));
  EXPECT_EQ(a->inspect("a/").size(), 1U);
  EXPECT_GT(a->take(mutex_claim("name/0")).first_token.value(), token + 999);
}

TEST_F(boot_test, the_log_starts_afresh_while_its_users_go_on) {
  auto a = client();
  // SQLite numbers the logs of a database; big-endian, at byte 12. How long one becomes is up to the disk.
  const auto number = [&] {
    std::ifstream log(path() + "-wal", std::ios::binary);
    std::array<char, 16> header{};
    log.read(header.data(), header.size());
    return static_cast<unsigned char>(header[15]);
  };
  a->take(mutex_claim("first"));
  const auto first = number();
  EXPECT_TRUE(eventually([&] {
    for (int i = 0; i < 1000; ++i) {
      const auto c = mutex_claim("m");
      a->take(c);
      a->leave(c);
    }
    return number() != first;
  }));
}

}  // namespace holdfast::sqlite_tests
