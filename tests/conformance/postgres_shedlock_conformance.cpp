#include <holdfast/testing/conformance.hpp>

// Everything the postgres store with ?layout=shedlock is held to. The bodies are in the OBJECT library
// holdfast_conformance.

namespace holdfast::testing {

using ::testing::Combine;
using ::testing::Values;

INSTANTIATE_TEST_SUITE_P(store, exclusive_conformance, Combine(Values(postgres_shedlock_store()), every_lock()),
                         store_and_lock_name);
INSTANTIATE_TEST_SUITE_P(store, waiting_conformance, Combine(Values(postgres_shedlock_store()), every_lock()),
                         store_and_lock_name);
INSTANTIATE_TEST_SUITE_P(store, lease_conformance, Combine(Values(postgres_shedlock_store()), every_lock()),
                         store_and_lock_name);
INSTANTIATE_TEST_SUITE_P(store, loss_conformance, Combine(Values(postgres_shedlock_store()), every_lock()),
                         store_and_lock_name);
INSTANTIATE_TEST_SUITE_P(store, option_conformance, Combine(Values(postgres_shedlock_store()), every_lock()),
                         store_and_lock_name);
INSTANTIATE_TEST_SUITE_P(store, operation_conformance, Combine(Values(postgres_shedlock_store()), every_lock()),
                         store_and_lock_name);
INSTANTIATE_TEST_SUITE_P(store, process_conformance, Combine(Values(postgres_shedlock_store()), every_plain_lock()),
                         store_and_lock_name);

INSTANTIATE_TEST_SUITE_P(store, mutex_conformance, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, fifo_conformance, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, recursive_mutex_conformance, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, shared_mutex_conformance, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, permit_semaphore_conformance, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, counting_semaphore_conformance, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, latch_conformance, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, multi_mutex_conformance, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, quorum_mutex_conformance, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, striped_mutex_conformance, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, cell_conformance, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, fence_conformance, Values(postgres_shedlock_store()), store_name);

INSTANTIATE_TEST_SUITE_P(store, inspect_conformance, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, watch_conformance, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, stats_conformance, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, coroutine_conformance, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, name_conformance, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, lifetime_conformance, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, fork_conformance, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, clock_conformance, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, capability_conformance, Values(postgres_shedlock_store()), store_name);

}  // namespace holdfast::testing
