#include <holdfast/holdfast.hpp>
#include <holdfast/testing/etcd_server.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>

#include <gtest/gtest.h>

#include <atomic>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

void switch_on(const etcd_server& server) {
  for (const char* words : {"user add root:rootpw", "user grant-role root root", "role add locks",
                            "role grant-permission locks --prefix=true readwrite orders/",
                            "role grant-permission locks --prefix=true readwrite holdfast", "user add service:s3cret",
                            "user grant-role service locks", "auth enable"})
    server.etcdctl(words);
}

std::string as(const etcd_server& server, const std::string& who) { return "etcd://" + who + "@" + server.hosts(); }

}  // namespace

TEST(etcd_auth, a_user_locks_what_it_has_the_right_to) {
  const etcd_server server;
  switch_on(server);
  const client c = connect(as(server, "service:s3cret"));
  lease held = mutex(c, "orders").acquire();
  mutex next(connect(as(server, "root:rootpw")), "orders");
  auto waits = next.async_acquire();
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(waits.get().valid());
  EXPECT_TRUE(throws(errc::rejected, [&] { return mutex(c, "customers").try_acquire(); }));
  EXPECT_TRUE(shared_mutex(c, "orders").try_acquire_shared({.wait = live_timeout}));
}

TEST(etcd_auth, who_is_nobody_is_refused_and_no_password_is_shown) {
  const etcd_server server;
  switch_on(server);
  const std::string wrong = as(server, "service:hunter2");
  EXPECT_TRUE(throws(errc::rejected, [&] { return connect(wrong); }));
  EXPECT_EQ(error_text([&] { return connect(wrong); }).find("hunter2"), std::string::npos);
  EXPECT_TRUE(throws(errc::rejected, [&] {
    mutex m(connect(server.url()), "orders");
    return m.try_acquire();
  }));
}

TEST(etcd_auth, a_login_that_the_server_forgot_is_made_again) {
  etcd_server server;
  switch_on(server);
  const client c = connect(as(server, "service:s3cret"), {.ttl = 20s});
  mutex m(c, "orders");
  lease held = m.acquire();
  mutex other(connect(as(server, "root:rootpw")), "orders");
  auto waits = other.async_acquire();
  server.kill();
  server.start();  // it keeps logins in memory
  EXPECT_TRUE(eventually([&] { return held.renew().has_value(); }));
  EXPECT_TRUE(eventually([&] { return held.release().has_value(); }));
  EXPECT_TRUE(waits.get().valid());
}

TEST(etcd_auth, who_only_watches_logs_in_again_too) {
  etcd_server server;
  switch_on(server);
  client looker = connect(as(server, "service:s3cret"));
  std::atomic<int> grants = 0;
  const subscription watching = looker.watch("orders/", [&](const change& c) {
    if (c.what == change::kind::granted) ++grants;
  });
  const auto someone_gets_it = [&] {
    const int before = grants;
    const lease held = mutex(connect(as(server, "root:rootpw")), "orders/1").acquire();
    return eventually([&] { return grants > before; });
  };
  ASSERT_TRUE(someone_gets_it());
  // A restart alone may bring the logins back, with the log; this forgets them, but what is open stays open.
  server.etcdctl("--user root:rootpw auth disable");
  server.etcdctl("auth enable");
  server.kill();
  server.start();
  EXPECT_TRUE(someone_gets_it());
}

TEST(etcd_auth, a_password_where_there_are_no_users_is_not_needed) {
  const etcd_server server;
  EXPECT_TRUE(mutex(connect(as(server, "anybody:anything")), "m").try_acquire());
}

}  // namespace holdfast::testing
