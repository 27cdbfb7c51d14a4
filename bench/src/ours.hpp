#pragma once

#include "contender.hpp"

#include <memory>
#include <string>

namespace holdfast::bench {

/// Holdfast itself: one client, shared by all workers of the process. Throws holdfast::error.
std::unique_ptr<subject> open_ours(const std::string& url);

}  // namespace holdfast::bench
