#include <holdfast/testing/conformance.hpp>

#include <cstdlib>

// Many contenders on the zookeeper store. The bodies are in the OBJECT library holdfast_contenders.

namespace holdfast::testing {

using ::testing::Values;

namespace {

// Every handover is a transaction of a server that shares the machine: a quarter of what the embedded stores do is
// plenty.
[[maybe_unused]] const int a_quarter = ::setenv("HOLDFAST_TEST_SCALE", "25", 0);

}  // namespace

INSTANTIATE_TEST_SUITE_P(store, thread_contenders, Values(zookeeper_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, process_contenders, Values(zookeeper_store()), store_name);
INSTANTIATE_TEST_SUITE_P(store, pending_contenders, Values(zookeeper_store()), store_name);

}  // namespace holdfast::testing
