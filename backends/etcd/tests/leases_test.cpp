#include "leases.hpp"
#include "live_runtime.hpp"
#include "script.hpp"

#include <holdfast/testing/etcd_server.hpp>
#include <holdfast/testing/eventually.hpp>

#include <gtest/gtest.h>

namespace holdfast::etcd {

using namespace std::chrono_literals;
using testing::answer_to;

namespace {

settings naming(const std::string& hosts) {
  auto where = settings::from(*uri::parse("etcd://" + hosts));
  EXPECT_TRUE(where);
  return *where;
}

/// A client's leases, without the locks.
struct books {
  explicit books(const std::string& hosts) : through(naming(hosts), engine) {}
  ~books() {
    terms->stop();
    engine.stop();
    pulse->close();
    through.close();
  }

  result<leases::id> grant() {
    return answer_to<leases::id>([&](auto done) { terms->grant(60s, spi::caller::may_block, std::move(done)); });
  }
  result<spi::time_point> beat(leases::id lease) {
    return answer_to<spi::time_point>([&](auto done) { terms->beat(lease, std::move(done)); });
  }
  /// Something that a majority must answer.
  bool ask() {
    return answer_to<etcdserverpb::RangeResponse>([&](auto done) {
             through.ask(methods::range, script::range("m"), spi::caller::may_block, std::move(done));
           })
        .has_value();
  }

  testing::live_runtime engine{{.ttl = 60s, .request_timeout = 6s}};
  wire through;
  std::shared_ptr<heartbeat> pulse = std::make_shared<heartbeat>(through, [] {});
  std::shared_ptr<leases> terms = std::make_shared<leases>(through, pulse, [](leases::id) {});
};

}  // namespace

// A leader that hangs while another is elected cannot be had by signals. For a client it is a member that answers in an
// older term: here a server of its own.
TEST(etcd_leases, what_a_deposed_leader_keeps_alive_is_not_alive) {
  testing::etcd_server old;
  testing::etcd_server newer;
  for (int i = 0; i < 2; ++i) {
    newer.kill();  // each start is an election
    newer.start();
  }
  books client(old.hosts() + "," + newer.hosts());
  const auto lease = client.grant();
  ASSERT_TRUE(lease);
  ASSERT_TRUE(client.beat(*lease));
  EXPECT_TRUE(client.terms->confirmed(*lease));
  // Another question is answered by the majority's new leader.
  client.through.cluster().failed(0);
  ASSERT_TRUE(client.ask());
  EXPECT_FALSE(client.terms->confirmed(*lease));
  const auto kept = client.beat(*lease);  // on the stream there is
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, errc::unavailable);
}

TEST(etcd_leases, a_member_that_does_not_answer_keeps_no_lease_alive_either) {
  testing::etcd_server one;
  testing::etcd_server other;
  books client(one.hosts() + "," + other.hosts());
  client.through.when_member_fails([&](std::size_t index) { client.pulse->cut_member(index); });
  const auto lease = client.grant();
  ASSERT_TRUE(lease);
  ASSERT_TRUE(client.beat(*lease));
  one.pause();
  EXPECT_FALSE(client.ask());
  one.resume();
  // The first may still be sent on the stream that ends.
  auto again = client.beat(*lease);
  while (!again && again.error().code == errc::unavailable) again = client.beat(*lease);
  ASSERT_FALSE(again) << "the other server knows no such lease";
  EXPECT_EQ(again.error().code, errc::lost);
}

TEST(etcd_leases, who_waits_for_the_session_somebody_else_asked_for_does_not_block) {
  testing::etcd_server server;
  books client(server.hosts());
  server.pause();
  std::mutex mutex;
  std::vector<spi::caller> told;
  const auto note = [&](const result<leases::allotment>& given) {
    ASSERT_TRUE(given);
    const std::lock_guard lock(mutex);
    told.push_back(given->from);
  };
  client.terms->session(spi::caller::must_not_block, note);
  client.terms->session(spi::caller::may_block, note);
  server.resume();
  ASSERT_TRUE(testing::eventually([&] {
    const std::lock_guard lock(mutex);
    return told.size() == 2;
  }));
  for (const auto how : told) EXPECT_EQ(how, spi::caller::must_not_block);
  client.terms->session(spi::caller::may_block, note);
  EXPECT_EQ(told.back(), spi::caller::may_block) << "on its own thread";
}

}  // namespace holdfast::etcd
