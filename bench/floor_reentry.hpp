#pragma once

#include "contender.hpp"

#include <memory>

namespace holdfast::bench {

/// The floor of `reentry` on every store: taking a std::recursive_mutex again that the thread holds already.
std::unique_ptr<subject> open_reentry_floor();

}  // namespace holdfast::bench
