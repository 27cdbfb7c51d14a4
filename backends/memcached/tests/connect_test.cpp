#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/memcached_server.hpp>
#include <holdfast/testing/temporary_directory.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <mutex>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

/// The text of the failure to connect; empty: it did not fail.
std::string refusal(const std::string& url, errc expected, client_options options = {}) {
  try {
    connect(url, std::move(options));
  } catch (const error& e) {
    EXPECT_EQ(e.code(), expected) << e.what();
    return e.what();
  }
  return {};
}

}  // namespace

TEST(memcached_connect, users_and_passwords_are_told_and_never_shown) {
  const temporary_directory directory;
  const auto file = (directory.path() / "users").string();
  std::ofstream(file) << "alice:correct-horse\n";
  memcached_server server({"-Y", file});
  const std::string at = "@127.0.0.1:" + std::to_string(server.port());
  mutex m(connect("memcached://alice:correct-horse" + at), "m");
  EXPECT_TRUE(m.try_acquire());
  // Lines may come after the client is gone.
  struct log_book {
    std::mutex guard;
    std::string text;
  };
  const auto book = std::make_shared<log_book>();
  const auto log = [book](log_level, std::string_view line) {
    const std::lock_guard lock(book->guard);
    book->text += line;
  };
  const auto logged = [book] {
    const std::lock_guard lock(book->guard);
    return book->text;
  };
  const auto wrong = refusal("memcached://alice:battery-staple" + at, errc::rejected, {.log = log});
  EXPECT_NE(wrong.find("does not know this user and password"), std::string::npos) << wrong;
  const auto none = refusal(server.url(), errc::rejected);
  EXPECT_NE(none.find("wants a user and password"), std::string::npos) << none;
  EXPECT_EQ(wrong.find("battery"), std::string::npos) << wrong;
  // What is logged when it goes away, and nobody answers.
  mutex cut(connect("memcached://alice:correct-horse" + at, {.request_timeout = 300ms, .log = log}), "cut");
  server.kill();
  EXPECT_TRUE(throws(errc::unavailable, [&] { return cut.try_acquire(); }));
  EXPECT_TRUE(eventually([&] { return logged().find("memcached 127.0.0.1") != std::string::npos; })) << logged();
  for (const auto* secret : {"battery", "horse", "alice"})
    EXPECT_EQ(logged().find(secret), std::string::npos) << logged();
}

TEST(memcached_connect, a_server_that_asks_for_no_password_is_not_told_it) {
  const memcached_server server;
  mutex m(connect("memcached://alice:correct-horse@127.0.0.1:" + std::to_string(server.port())), "m");
  EXPECT_TRUE(m.try_acquire());
  EXPECT_EQ(server.ask("get holdfast"), "END\r\n") << "for everybody to read";
}

TEST(memcached_connect, a_server_without_versions_is_refused) {
  const memcached_server server({"-C"});
  EXPECT_NE(refusal(server.url(), errc::unsupported).find("-C"), std::string::npos);
}

TEST(memcached_connect, nobody_there_is_unavailable_and_tls_is_not_spoken) {
  std::uint16_t port = 0;
  {
    const memcached_server server;
    port = server.port();
  }
  EXPECT_FALSE(refusal("memcached://127.0.0.1:" + std::to_string(port), errc::unavailable).empty());
  EXPECT_FALSE(refusal("memcacheds://127.0.0.1", errc::invalid_argument).empty());
}

TEST(memcached_connect, a_server_that_lists_no_keys_says_so_and_locks_all_the_same) {
  const memcached_server server({"-X"});
  client c = connect(server.url());
  mutex m(c, "m");
  lease held = m.acquire();
  try {
    static_cast<void>(c.inspect(""));
    FAIL() << "it listed";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::unsupported) << e.what();
    EXPECT_NE(std::string(e.what()).find("does not list its keys"), std::string::npos) << e.what();
  }
  EXPECT_TRUE(c.evict("m"));
}

TEST(memcached_connect, tokens_fit_where_numbers_have_53_bits) {
  const memcached_server server;
  mutex m(connect(server.url()), "m");
  const auto token = m.acquire().token().value();
  EXPECT_GT(token, 0u);
  EXPECT_LT(token, std::uint64_t{1} << 53);
}

TEST(memcached_connect, the_doctor_says_that_it_is_best_effort) {
  const memcached_server server;
  const auto found = connect(server.url()).examine();
  const auto says = [&](const std::string& part) {
    for (const finding& one : found)
      if (one.text.find(part) != std::string::npos) return true;
    return false;
  };
  EXPECT_TRUE(says("best effort"));
  EXPECT_TRUE(says("evicts items when its memory is full"));
  EXPECT_TRUE(says("memcached 1."));
}

}  // namespace holdfast::testing
