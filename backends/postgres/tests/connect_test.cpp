#include <holdfast/holdfast.hpp>
#include <holdfast/testing/certificates.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/loopback.hpp>
#include <holdfast/testing/postgres_server.hpp>

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
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

std::size_t connections(const postgres_server& server) {
  return static_cast<std::size_t>(
      std::stoul(server.query("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'holdfast %'")));
}

}  // namespace

TEST(postgres_connect, nobody_there_is_unavailable) {
  const error why = refusal("postgresql://postgres@127.0.0.1:" + std::to_string(free_port()) + "/postgres");
  EXPECT_EQ(why.code(), make_error_code(errc::unavailable));
}

TEST(postgres_connect, a_wrong_password_is_rejected_and_shown_nowhere) {
  const postgres_server server;
  server.query("CREATE ROLE ann LOGIN PASSWORD 'right'");
  std::ofstream(server.data() + "/pg_hba.conf") << "host all ann 127.0.0.1/32 scram-sha-256\nlocal all all trust\n"
                                                   "host all all 127.0.0.1/32 trust\n";
  server.query("SELECT pg_reload_conf()");
  const std::string at = "@127.0.0.1:" + std::to_string(server.port()) + "/postgres";
  ASSERT_TRUE(
      eventually([&] { return refusal("postgresql://ann:hushhush" + at).code() == make_error_code(errc::rejected); }));
  EXPECT_EQ(std::string(refusal("postgresql://ann:hushhush" + at).what()).find("hushhush"), std::string::npos);
  server.query("GRANT CREATE ON DATABASE postgres TO ann");
  EXPECT_TRUE(mutex(connect("postgresql://ann:right" + at), "m").try_acquire());
  std::ofstream(server.directory() + "/secret") << "right\n";
  EXPECT_TRUE(
      mutex(connect("postgresql://ann" + at + "?password-file=" + server.directory() + "/secret"), "n").try_acquire());
}

TEST(postgres_connect, an_unknown_database_or_user_is_rejected) {
  const postgres_server server;
  const std::string where = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_EQ(refusal("postgresql://postgres@" + where + "/nothere").code(), make_error_code(errc::rejected));
  EXPECT_EQ(refusal("postgresql://nobody@" + where + "/postgres").code(), make_error_code(errc::rejected));
}

TEST(postgres_connect, a_socket_a_service_file_and_several_hosts_are_libpqs_own_ways) {
  const postgres_server server;
  const std::string port = std::to_string(server.port());
  mutex by_socket(connect("postgresql:///postgres?host=" + server.directory() + "&port=" + port + "&user=postgres"),
                  "m");
  const lease held = by_socket.acquire();
  const std::string nobody = std::to_string(free_port());
  mutex second(connect("postgresql://postgres@127.0.0.1:" + nobody + ",127.0.0.1:" + port + "/postgres"), "m");
  EXPECT_FALSE(second.try_acquire()) << "the same lock by another way";
  std::ofstream(server.directory() + "/services")
      << "[locks]\nhost=127.0.0.1\nport=" << port << "\ndbname=postgres\nuser=postgres\n";
  ::setenv("PGSERVICEFILE", (server.directory() + "/services").c_str(), 1);
  mutex third(connect("postgresql:///?service=locks"), "m");
  EXPECT_FALSE(third.try_acquire());
  ::unsetenv("PGSERVICEFILE");
}

TEST(postgres_connect, a_host_that_does_not_answer_is_left_for_the_next) {
  const postgres_server server;
  // It accepts, as far as the kernel goes, and says nothing.
  const int silent = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const std::uint16_t port = free_port();
  const sockaddr_in at = loopback(port);
  ASSERT_EQ(::bind(silent, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(silent, 100), 0);
  const std::string hosts =
      "postgresql://postgres@127.0.0.1:" + std::to_string(port) + ",127.0.0.1:" + std::to_string(server.port());
  EXPECT_TRUE(mutex(connect(hosts + "/postgres", {.connect_timeout = 6s}), "m").try_acquire());
  mutex soon(connect(hosts + "/postgres?connect_timeout=1", {.connect_timeout = live_timeout}), "n");
  EXPECT_LT(time_taken([&] { EXPECT_TRUE(soon.try_acquire()); }), 10s);
  ::close(silent);
}

TEST(postgres_connect, tls_is_libpqs_own_and_a_stranger_is_rejected) {
  const postgres_server server;
  certificates authority;
  const auto pair = authority.issue("IP:127.0.0.1");
  const std::string cert = server.directory() + "/cert.pem";
  const std::string key = server.directory() + "/key.pem";
  std::filesystem::copy(pair.cert, cert);
  std::filesystem::copy(pair.key, key);
  std::filesystem::permissions(cert, std::filesystem::perms(0644));
  std::filesystem::permissions(key, std::filesystem::perms(0600));
  struct stat owner{};
  ASSERT_EQ(::stat(server.data().c_str(), &owner), 0);
  ASSERT_EQ(::chown(key.c_str(), owner.st_uid, owner.st_gid), 0);
  server.query("ALTER SYSTEM SET ssl_cert_file = '" + cert + "'");
  server.query("ALTER SYSTEM SET ssl_key_file = '" + key + "'");
  server.query("ALTER SYSTEM SET ssl = on");
  server.query("SELECT pg_reload_conf()");
  ASSERT_TRUE(eventually([&] { return server.query("SHOW ssl") == "on"; }));
  client safe = connect(server.url("?sslmode=verify-full&sslrootcert=" + authority.authority()));
  mutex m(safe, "m");
  lease held = m.acquire();
  EXPECT_EQ(server.query("SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity a USING(pid) WHERE s.ssl AND "
                         "a.application_name LIKE 'holdfast %'"),
            "1");
  certificates stranger;
  EXPECT_EQ(refusal(server.url("?sslmode=verify-full&sslrootcert=" + stranger.authority())).code(),
            make_error_code(errc::rejected));
  mutex other(connect(server.url("?sslmode=require")), "m");
  auto next = other.async_acquire({.wait = live_timeout});
  ASSERT_TRUE(eventually([&] { return safe.inspect("m").front().waiters.size() == 1; }));
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(next.get().valid()) << "it waits over TLS as over anything";
}

TEST(postgres_connect, one_store_has_one_identity_whichever_way_it_is_reached) {
  const postgres_server server;
  client a = connect(server.url());
  client b = connect("postgresql:///postgres?host=" + server.directory() + "&port=" + std::to_string(server.port()) +
                     "&user=postgres");
  mutex first(a, "m");
  mutex second(b, "m");
  try {
    const multi_mutex both({first, second});
    FAIL() << "it is one lock";
  } catch (const error& why) {
    EXPECT_EQ(why.code(), make_error_code(errc::deadlock)) << why.what();
  }
}

TEST(postgres_connect, many_threads_with_many_names_need_four_connections_at_most) {
  const postgres_server server;
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

TEST(postgres_connect, no_room_for_another_connection_is_unavailable_and_passes) {
  const postgres_server server({"max_connections=12", "superuser_reserved_connections=3"});
  server.query("CREATE ROLE app LOGIN; GRANT CREATE ON DATABASE postgres TO app");
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

TEST(postgres_connect, ten_thousand_names_that_differ_a_little_do_not_meet) {
  const postgres_server server;
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
