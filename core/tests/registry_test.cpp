#include "registry.hpp"

#include "support/rig.hpp"

#include <algorithm>
#include <cstdlib>
#include <future>
#include <mutex>

namespace holdfast::testing {
namespace {

std::shared_ptr<scripted_store> the_store;

result<std::unique_ptr<spi::backend>> make_scripted(uri where, spi::runtime& engine) {
  if (where.path == "dead") return failure{errc::unavailable, "nobody there"};
  if (auto good = where.expect_no_more_options("nothing"); !good) return good.error();
  return scripted_store::backend(the_store, engine);
}

struct registry : ::testing::Test {
  registry() {
    the_store = std::make_shared<scripted_store>();
    spi::register_backend({"scripted", make_scripted, the_store->supports, "played by the tests"});
  }
  ~registry() override { the_store.reset(); }

  static failure failure_of(std::string_view url, client_options options = {}) {
    try {
      (void)connect(url, std::move(options));
    } catch (const error& e) {
      EXPECT_EQ(e.operation(), "connect");
      return {e.code(), e.detail()};
    }
    return {};
  }
};

TEST_F(registry, an_unknown_scheme_is_invalid_and_the_known_ones_are_named) {
  const auto why = failure_of("gopher://h");
  EXPECT_EQ(why.code, errc::invalid_argument);
  for (const char* part : {"'gopher'", "sqlite:", "redis+sentinel:", "memcached:"})
    EXPECT_NE(why.detail.find(part), std::string::npos) << why.detail;
}

TEST_F(registry, a_known_scheme_without_its_library_is_unsupported_and_the_library_is_named) {
  // The libraries are not beside this program, wherever it is run.
  const auto why = failure_of("zk://h:2181");
  EXPECT_EQ(why.code, errc::unsupported);
  EXPECT_NE(why.detail.find("zookeeper"), std::string::npos) << why.detail;
  EXPECT_NE(why.detail.find("not built or not installed"), std::string::npos) << why.detail;
}

TEST_F(registry, lists_every_scheme_of_the_contract_built_or_not) {
  std::vector<std::string> schemes;
  for (const auto& known : spi::all_backends()) schemes.push_back(known.scheme);
  for (const char* scheme :
       {"memory", "sqlite", "file", "redis", "rediss", "redis+unix", "redis+sentinel", "redis+cluster", "redlock",
        "etcd", "etcds", "zk", "postgresql", "mysql", "mariadb", "memcached"})
    EXPECT_NE(std::find(schemes.begin(), schemes.end(), scheme), schemes.end()) << scheme;
}

TEST_F(registry, a_registered_scheme_connects_on_threads_of_its_own) {
  auto c = connect("scripted:");
  EXPECT_EQ(c.url(), "scripted:");
  mutex m(c, "x");
  {
    std::scoped_lock guard(m);
    EXPECT_EQ(c.stats().held, 1U);
  }
  EXPECT_EQ(the_store->leave.count(), 1U);
  auto held = m.async_acquire().get();
  EXPECT_TRUE(held.valid());
}

TEST_F(registry, leases_outlive_their_client) {
  std::optional<lease> held;
  {
    mutex m(connect("scripted:"), "x");
    held = m.acquire();
  }
  EXPECT_TRUE(held->valid());
  EXPECT_TRUE(held->release());
}

TEST_F(registry, the_last_owner_may_let_go_inside_a_callback) {
  std::promise<void> called;
  auto c = std::make_shared<client>(connect("scripted:"));
  auto m = std::make_shared<mutex>(*c, "x");
  auto op = m->async_acquire();
  op.then([c = std::move(c), m = std::move(m), &called](result<lease> outcome) mutable {
    EXPECT_TRUE(outcome);
    c.reset();
    m.reset();
    called.set_value();
  });
  EXPECT_EQ(called.get_future().wait_for(10s), std::future_status::ready);
}

TEST_F(registry, what_the_backend_says_when_it_is_made_is_told) {
  EXPECT_EQ(failure_of("scripted:dead").code, errc::unavailable);
  const auto why = failure_of("scripted:?odd=1");
  EXPECT_EQ(why.code, errc::invalid_argument);
  EXPECT_NE(why.detail.find("'odd'"), std::string::npos);
}

TEST_F(registry, malformed_client_options_are_refused_by_name) {
  EXPECT_NE(failure_of("scripted:", {.ttl = 0s}).detail.find("ttl"), std::string::npos);
  EXPECT_NE(failure_of("scripted:", {.ttl = 24h * 365}).detail.find("ttl"), std::string::npos);
  EXPECT_NE(failure_of("scripted:", {.connect_timeout = 0s}).detail.find("connect_timeout"), std::string::npos);
  EXPECT_NE(failure_of("scripted:", {.request_timeout = -1s}).detail.find("request_timeout"), std::string::npos);
}

TEST_F(registry, a_primitive_the_store_lacks_is_refused_when_it_is_made) {
  the_store->supports = {.mutex = true};
  auto c = connect("scripted:");
  EXPECT_NO_THROW(mutex(c, "x"));
  try {
    mutex fair(c, "x", {.order = ordering::fifo});
    FAIL() << "must be refused";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::unsupported);
  }
  EXPECT_THROW(mutex(c, ""), error);
  EXPECT_THROW(mutex(c, "a\nb"), error);
}

TEST(default_url, follows_the_environment) {
  ::setenv("HOLDFAST_STORE", "memory:chosen", 1);
  EXPECT_EQ(default_url(), "memory:chosen");
  ::unsetenv("HOLDFAST_STORE");
  ::setenv("XDG_STATE_HOME", "/tmp/a b%", 1);
  EXPECT_EQ(default_url(), "sqlite:///tmp/a%20b%25/holdfast/locks.db");
  EXPECT_EQ(uri::parse(default_url()).value().path, "/tmp/a b%/holdfast/locks.db");
  ::setenv("XDG_STATE_HOME", "relative", 1);
  ::setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(default_url(), "sqlite:///home/somebody/.local/state/holdfast/locks.db") << "relative ones are ignored";
  ::unsetenv("XDG_STATE_HOME");
}

}  // namespace
}  // namespace holdfast::testing
