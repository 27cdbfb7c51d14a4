#pragma once

namespace holdfast::testing {

/// `n` times `$HOLDFAST_TEST_SCALE` percent (default 100), at least 1: sanitizer runs count less far with the same
/// contenders.
int scaled(int n);

}  // namespace holdfast::testing
