#include "live_runtime.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/testing/cutting_proxy.hpp>
#include <holdfast/testing/etcd_server.hpp>
#include <holdfast/testing/eventually.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

// A claim that was left, of which the server has not answered, is entered again: so the engine does with a grant that
// came too late. The release may be carried out at any time.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

class etcd_anew : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto all = spi::all_backends();
    const auto etcd = std::find_if(all.begin(), all.end(), [](const auto& one) { return one.scheme == "etcd"; });
    auto made = etcd->make(*uri::parse("etcd://127.0.0.1:" + std::to_string(first_.port()) +
                                       ",127.0.0.1:" + std::to_string(second_.port())),
                           engine_);
    ASSERT_TRUE(made);
    store_ = std::move(*made);
  }
  void TearDown() override {
    engine_.stop();
    store_.reset();
  }

  static spi::claim claim_of(spi::kind kind) {
    spi::claim c;
    c.name = "m";
    c.kind = kind;
    c.id = spi::owner_id::random();
    c.limit = kind == spi::kind::permits ? 2 : 1;
    c.ttl = 60s;
    return c;
  }
  bool enter(const spi::claim& c) {
    const auto said = answer_to<spi::entry_result>(
        [&](auto done) { store_->enter({c, true, 1, spi::caller::must_not_block}, std::move(done)); });
    return said && std::holds_alternative<spi::granted>(*said);
  }
  bool renewed(const spi::claim& c) {
    const auto said =
        answer_to<std::vector<spi::renewal_outcome>>([&](auto done) { store_->renew({c}, std::move(done)); });
    return said && said->at(0).what == spi::renewal::renewed;
  }
  double metric(const std::string& start) {
    std::istringstream lines(server_.node(0).get("/metrics"));
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with(start)) return std::stod(line.substr(line.rfind(' ')));
    return 0;
  }
  double transactions() {
    return metric("grpc_server_handled_total{grpc_code=\"OK\",grpc_method=\"Txn\",grpc_service=\"etcdserverpb.KV\"");
  }

  /// Entered, left without an answer, entered again; then the release is carried out.
  void come_again(const spi::claim& c, double watched, const std::string& words) {
    ASSERT_TRUE(enter(c));
    // After that, the next that names its keys is the release.
    ASSERT_TRUE(eventually([&] { return metric("etcd_debugging_mvcc_watcher_total ") == watched; }));
    first_.keep(words);
    second_.cut_after(cutting_proxy::direction::to_server, 0, cutting_proxy::manner::hang);
    const auto left =
        answer_to<bool>([&](auto done) { store_->leave(c, spi::caller::must_not_block, std::move(done)); });
    ASSERT_FALSE(left);
    ASSERT_TRUE(first_.kept());
    second_.pass();
    ASSERT_TRUE(eventually([&] { return enter(c); }));
    const double before = transactions();
    first_.deliver();
    // More than one: what is left of the first visit is looked for meanwhile.
    ASSERT_TRUE(eventually([&] { return transactions() > before + 2; }));
    EXPECT_TRUE(eventually([&] { return renewed(c); }));
  }

  etcd_server server_;
  cutting_proxy first_{server_.node(0).port()};
  cutting_proxy second_{server_.node(0).port()};
  live_runtime engine_{{.ttl = 60s, .request_timeout = 3s}};
  std::unique_ptr<spi::backend> store_;
};

}  // namespace

TEST_F(etcd_anew, a_late_release_takes_no_mutex) { come_again(claim_of(spi::kind::mutex), 1, "m/"); }

TEST_F(etcd_anew, a_late_release_takes_no_shared_mutex) { come_again(claim_of(spi::kind::shared_mutex), 2, "m/"); }

TEST_F(etcd_anew, a_late_release_takes_no_permits) { come_again(claim_of(spi::kind::permits), 1, "permit\t"); }

}  // namespace holdfast::testing
