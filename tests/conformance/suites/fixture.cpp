#include <holdfast/testing/conformance.hpp>

#include <algorithm>

namespace holdfast::testing {

entry with_store::look_at(const client& c, const std::string& name) {
  for (entry& found : c.inspect(name)) {
    if (found.name == name) return std::move(found);
  }
  return {};
}

::testing::AssertionResult with_store::waiting(const client& c, const std::string& name, std::size_t n) {
  std::size_t seen = 0;
  if (eventually([&] { return (seen = waiters(c, name)) == n; })) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "inspect shows " << seen << " waiting for " << name << " instead of " << n;
}

::testing::AssertionResult with_store::nobody_waits(const client& c, const std::string& name) {
  std::size_t seen = 0;
  if (eventually([&] { return (seen = waiters(c, name)) == 0; }, promised_second)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "after a second inspect still shows " << seen << " waiting for " << name;
}

::testing::AssertionResult with_store::nothing_left(const client& c, const std::string& name) {
  entry seen;
  const auto gone = [&] {
    seen = look_at(c, name);
    return seen.name.empty();
  };
  if (eventually(gone, promised_second)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "after a second inspect still shows " << name << " with "
                                       << seen.holders.size() << " holders and " << seen.waiters.size() << " waiters";
}

::testing::AssertionResult with_store::gets_lost(const lease& held) {
  if (eventually([&] { return held.lost().stop_requested(); })) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "the lease on " << held.name() << " does not know that it is lost";
}

std::string store_and_lock_name(const ::testing::TestParamInfo<store_and_lock>& info) {
  return std::get<0>(info.param).label + "_" + to_string(std::get<1>(info.param));
}

namespace {

/// For SetUp: fails unless the store's own word and the fixture's agree, and `make()` is refused where both say no.
template <class Make>
void expect_refusal(Make make) {
  EXPECT_TRUE(throws(errc::unsupported, make)) << "what a store cannot do is refused when the object is made";
}

}  // namespace

void lock_conformance::SetUp() {
  const bool possible = kind() == lock_kind::shared_mutex       ? supports().shared_mutex
                        : kind() == lock_kind::permit_semaphore ? supports().permits
                        : kind() == lock_kind::quorum_mutex     ? supports().raise_token
                                                                : supports().mutex;
  if (possible) return;
  expect_refusal([&] { return make(connect(), unique_name("refused")); });
  GTEST_SKIP() << "this store has no " << to_string(kind());
}

void process_conformance::SetUp() {
  lock_conformance::SetUp();
  if (!IsSkipped() && !store().cross_process()) GTEST_SKIP() << "this store lives in one process";
}

void process_contenders::SetUp() {
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
}

void fifo_conformance::SetUp() {
  if (supports().fifo) return;
  const client c = connect();
  const lock_options fair{.order = ordering::fifo};
  expect_refusal([&] { mutex m(c, unique_name("refused"), fair); });
  expect_refusal([&] { recursive_mutex m(c, unique_name("refused"), fair); });
  if (supports().shared_mutex) expect_refusal([&] { shared_mutex m(c, unique_name("refused"), fair); });
  if (supports().permits) expect_refusal([&] { permit_semaphore s(c, unique_name("refused"), 2, fair); });
  expect_refusal([&] { striped_mutex m(c, unique_name("refused"), 2, fair); });
  GTEST_SKIP() << "this store has no fair queue";
}

void shared_mutex_conformance::SetUp() {
  if (supports().shared_mutex) return;
  expect_refusal([&] { shared_mutex m(connect(), unique_name("refused")); });
  GTEST_SKIP() << "this store has no shared_mutex";
}

void permit_semaphore_conformance::SetUp() {
  if (supports().permits) return;
  expect_refusal([&] { permit_semaphore s(connect(), unique_name("refused"), 2); });
  GTEST_SKIP() << "this store has no permit_semaphore";
}

void counting_semaphore_conformance::SetUp() {
  if (supports().semaphore) return;
  expect_refusal([&] { counting_semaphore s(connect(), unique_name("refused")); });
  GTEST_SKIP() << "this store has no counting_semaphore";
}

void latch_conformance::SetUp() {
  if (supports().latch) return;
  expect_refusal([&] { latch l(connect(), unique_name("refused")); });
  GTEST_SKIP() << "this store has no latch";
}

void quorum_mutex_conformance::SetUp() {
  if (supports().raise_token) return;
  mutex member(connect(), unique_name("refused"));
  expect_refusal([&] { quorum_mutex q{member}; });
  GTEST_SKIP() << "this store cannot raise tokens, so it has no quorum_mutex";
}

void cell_conformance::SetUp() {
  if (supports().cell) return;
  expect_refusal([&] { cell c(connect(), unique_name("refused")); });
  GTEST_SKIP() << "this store has no cell";
}

void fence_conformance::SetUp() {
  if (supports().fence) return;
  expect_refusal([&] { fence f(connect(), unique_name("refused")); });
  GTEST_SKIP() << "this store has no fence";
}

}  // namespace holdfast::testing
