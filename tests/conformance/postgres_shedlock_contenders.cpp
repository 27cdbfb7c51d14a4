#include <holdfast/testing/conformance.hpp>

// Many contenders on the postgres store with ?layout=shedlock. The bodies are in the OBJECT library
// holdfast_contenders.

namespace holdfast::testing {

using ::testing::Values;

INSTANTIATE_TEST_SUITE_P(store, thread_contenders, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, process_contenders, Values(postgres_shedlock_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, pending_contenders, Values(postgres_shedlock_store()), store_name);

}  // namespace holdfast::testing
