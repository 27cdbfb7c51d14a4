#include <holdfast/holdfast.hpp>
#include <holdfast/testing/certificates.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/loopback.hpp>
#include <holdfast/testing/mariadb_server.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

/// The error of connecting.
error refusal(const std::string& url) {
  try {
    static_cast<void>(connect(url, {.connect_timeout = 5s}));
  } catch (const error& why) {
    return why;
  }
  throw std::logic_error("it connected: " + url);
}

std::size_t connections(const mariadb_server& server) {
  return static_cast<std::size_t>(
      std::stoul(server.query("SELECT count(*) - 1 FROM information_schema.processlist WHERE user = 'root'")));
}

}  // namespace

TEST(mysql_connect, nobody_there_is_unavailable) {
  const error why = refusal("mysql://root@127.0.0.1:" + std::to_string(free_port()) + "/holdfast");
  EXPECT_EQ(why.code(), make_error_code(errc::unavailable));
}

TEST(mysql_connect, a_wrong_password_is_rejected_and_shown_nowhere) {
  const mariadb_server server;
  server.query("CREATE USER ann IDENTIFIED BY 'right'; GRANT ALL ON holdfast.* TO ann");
  const std::string at = "@127.0.0.1:" + std::to_string(server.port()) + "/holdfast";
  const error why = refusal("mysql://ann:hushhush" + at);
  EXPECT_EQ(why.code(), make_error_code(errc::rejected)) << why.what();
  EXPECT_EQ(std::string(why.what()).find("hushhush"), std::string::npos);
  EXPECT_TRUE(mutex(connect("mariadb://ann:right" + at), "m").try_acquire()) << "by its other name";
  std::ofstream(server.directory() + "/secret") << "right\n";
  EXPECT_TRUE(
      mutex(connect("mysql://ann" + at + "?password-file=" + server.directory() + "/secret"), "n").try_acquire());
}

TEST(mysql_connect, an_unknown_database_or_user_is_rejected) {
  const mariadb_server server;
  const std::string where = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_EQ(refusal("mysql://root@" + where + "/nothere").code(), make_error_code(errc::rejected));
  EXPECT_EQ(refusal("mysql://nobody@" + where + "/holdfast").code(), make_error_code(errc::rejected));
}

TEST(mysql_connect, a_socket_and_my_cnf_are_the_drivers_own_ways_to_the_same_store) {
  const mariadb_server server;
  mutex by_socket(connect("mysql://root@localhost/holdfast?unix_socket=" + server.socket()), "m");
  const lease held = by_socket.acquire();
  EXPECT_FALSE(mutex(connect(server.url()), "m").try_acquire()) << "the same lock by another way";
  std::ofstream(server.directory() + "/my.cnf")
      << "[locks]\nhost=127.0.0.1\nport=" << server.port() << "\nuser=root\ndatabase=holdfast\n";
  client by_file = connect("mysql:///?defaults_file=" + server.directory() + "/my.cnf&defaults_group=locks");
  mutex third(by_file, "m");
  EXPECT_FALSE(third.try_acquire());
  try {
    const multi_mutex both({by_socket, third});
    FAIL() << "it is one lock";
  } catch (const error& why) {
    EXPECT_EQ(why.code(), make_error_code(errc::deadlock)) << why.what();
  }
}

TEST(mysql_connect, tls_is_the_drivers_own_and_a_stranger_is_rejected) {
  certificates authority;
  const auto pair = authority.issue("IP:127.0.0.1");
  const mariadb_server server({"--ssl-cert=" + pair.cert, "--ssl-key=" + pair.key});
  client safe = connect(server.url("?ssl=1&ssl-verify-server-cert=1&ssl-ca=" + authority.authority()));
  mutex m(safe, "m");
  lease held = m.acquire();
  certificates stranger;
  EXPECT_EQ(refusal(server.url("?ssl=1&ssl-verify-server-cert=1&ssl-ca=" + stranger.authority())).code(),
            make_error_code(errc::rejected));
  mutex other(connect(server.url("?ssl=1")), "m");
  auto next = other.async_acquire({.wait = live_timeout});
  ASSERT_TRUE(eventually([&] { return safe.inspect("m").front().waiters.size() == 1; }));
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(next.get().valid()) << "it waits over TLS as over anything";
}

TEST(mysql_connect, no_room_for_another_connection_is_unavailable_and_passes) {
  const mariadb_server server({"--max-connections=10"});
  server.query("CREATE USER app; GRANT ALL ON holdfast.* TO app");
  std::vector<client> all;
  const auto full = [&] {
    try {
      all.push_back(connect(server.url("", "app")));
      return false;
    } catch (const error& why) {
      EXPECT_EQ(why.code(), make_error_code(errc::unavailable)) << why.what();
      return true;
    }
  };
  bool refused = false;
  for (int i = 0; i < 12 && !refused; ++i) refused = full();
  ASSERT_TRUE(refused);
  all.pop_back();
  EXPECT_TRUE(eventually([&] { return !full(); }));
}

TEST(mysql_connect, a_galera_cluster_is_refused) {
  const mariadb_server server({"--wsrep-on=ON", "--binlog-format=ROW"});
  const error why = refusal(server.url());
  EXPECT_EQ(why.code(), make_error_code(errc::unsupported)) << why.what();
  EXPECT_NE(std::string(why.what()).find("Galera"), std::string::npos) << why.what();
}

TEST(mysql_connect, many_threads_with_many_names_need_four_connections_at_most) {
  const mariadb_server server;
  client c = connect(server.url());
  std::vector<std::jthread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      mutex own(c, "own-" + std::to_string(t));
      mutex common(c, "common");
      for (int i = 0; i < 20; ++i) {
        const std::scoped_lock guard(own);
        const std::scoped_lock other(common);
      }
    });
  }
  threads.clear();
  EXPECT_LE(connections(server), 4u);
}

TEST(mysql_connect, ten_thousand_names_that_differ_a_little_do_not_meet) {
  const mariadb_server server;
  client c = connect(server.url());
  // Case, blanks at the end, the form of an accent, wildcards: all that a collation might take for the same.
  const std::vector<std::string> alike{"name",
                                       "Name",
                                       "NAME",
                                       "name ",
                                       "n\u00e4me",
                                       "na\u0308me",
                                       "n%me",
                                       "n_me",
                                       "na\\me",
                                       std::string(512, 'x'),
                                       std::string(511, 'x')};
  std::vector<lease> held;
  for (const auto& name : alike) {
    auto got = mutex(c, name).try_acquire();
    ASSERT_TRUE(got) << name;
    held.push_back(std::move(*got));
  }
  std::mutex guard;
  std::set<std::string> refused;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = t; i < 10000; i += 8) {
        const std::string name = "lock/" + std::to_string(i * 7919 % 10007) + (i % 2 == 0 ? "/A" : "/a");
        auto got = mutex(c, name).try_acquire({.ttl = 600s});
        const std::scoped_lock lock(guard);
        if (got)
          held.push_back(std::move(*got));
        else
          refused.insert(name);
      }
    });
  }
  threads.clear();
  EXPECT_TRUE(refused.empty()) << refused.size() << " were taken for others, such as " << *refused.begin();
  EXPECT_EQ(c.inspect("lock/").size(), 10000u);
}

}  // namespace holdfast::testing
