#pragma once

#include "conversation.hpp"
#include "settings.hpp"

#include <holdfast/inspect.hpp>
#include <holdfast/result.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::memcached {

/// A key as listings show it: percent signs and two digits for what is special.
std::string key_in_listing(std::string_view line);

/// What the servers have under `prefix`, asked on connections of their own: a listing keeps its connection busy.
/// Blocks.
result<std::vector<entry>> list(const settings& where, const std::string& prefix, steady::time_point deadline);

}  // namespace holdfast::memcached
