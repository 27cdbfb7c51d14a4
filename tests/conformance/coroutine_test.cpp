#include <holdfast/testing/conformance.hpp>

// The coroutine suite on its own: what scripts/test builds with a second compiler, without all the other suites.

namespace holdfast::testing {

INSTANTIATE_TEST_SUITE_P(alone, coroutine_conformance, ::testing::Values(memory_store()), store_name);

}  // namespace holdfast::testing
