#include <holdfast/testing/conformance.hpp>

// Everything the redlock store is held to. The bodies are in the OBJECT library holdfast_conformance.

namespace holdfast::testing {

namespace {

using ::testing::Combine;
using ::testing::Values;

auto the_store() { return Values(redlock_store()); }
auto locks() { return Combine(the_store(), Values(lock_kind::mutex, lock_kind::recursive_mutex)); }

}  // namespace

INSTANTIATE_TEST_SUITE_P(store, exclusive_conformance, locks(), store_and_lock_name);
INSTANTIATE_TEST_SUITE_P(store, waiting_conformance, locks(), store_and_lock_name);
INSTANTIATE_TEST_SUITE_P(store, lease_conformance, locks(), store_and_lock_name);
INSTANTIATE_TEST_SUITE_P(store, loss_conformance, locks(), store_and_lock_name);
INSTANTIATE_TEST_SUITE_P(store, option_conformance, locks(), store_and_lock_name);
INSTANTIATE_TEST_SUITE_P(store, operation_conformance, locks(), store_and_lock_name);
INSTANTIATE_TEST_SUITE_P(store, process_conformance, locks(), store_and_lock_name);

INSTANTIATE_TEST_SUITE_P(store, mutex_conformance, the_store(), store_name);
INSTANTIATE_TEST_SUITE_P(store, fifo_conformance, the_store(), store_name);
INSTANTIATE_TEST_SUITE_P(store, recursive_mutex_conformance, the_store(), store_name);
INSTANTIATE_TEST_SUITE_P(store, multi_mutex_conformance, the_store(), store_name);
INSTANTIATE_TEST_SUITE_P(store, striped_mutex_conformance, the_store(), store_name);
INSTANTIATE_TEST_SUITE_P(store, fence_conformance, the_store(), store_name);

INSTANTIATE_TEST_SUITE_P(store, inspect_conformance, the_store(), store_name);
INSTANTIATE_TEST_SUITE_P(store, watch_conformance, the_store(), store_name);
INSTANTIATE_TEST_SUITE_P(store, stats_conformance, the_store(), store_name);
INSTANTIATE_TEST_SUITE_P(store, coroutine_conformance, the_store(), store_name);
INSTANTIATE_TEST_SUITE_P(store, name_conformance, the_store(), store_name);
INSTANTIATE_TEST_SUITE_P(store, lifetime_conformance, the_store(), store_name);
INSTANTIATE_TEST_SUITE_P(store, fork_conformance, the_store(), store_name);
INSTANTIATE_TEST_SUITE_P(store, clock_conformance, the_store(), store_name);
INSTANTIATE_TEST_SUITE_P(store, capability_conformance, the_store(), store_name);

// What the store refuses; capability_conformance sees to that.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(shared_mutex_conformance);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(permit_semaphore_conformance);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(counting_semaphore_conformance);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(latch_conformance);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(cell_conformance);
// Quorums of quorums add nothing.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(quorum_mutex_conformance);

}  // namespace holdfast::testing
