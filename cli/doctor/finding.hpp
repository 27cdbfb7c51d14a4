#pragma once

#include <holdfast/inspect.hpp>
#include <holdfast/uri.hpp>

#include <vector>

namespace holdfast::cli {

/// What can be seen of a store that lives in files of this machine, from its URL alone. Requires: it was connected to.
std::vector<finding> examine_sqlite(const uri& where);
std::vector<finding> examine_file(const uri& where);
std::vector<finding> examine_memory(const uri& where);

}  // namespace holdfast::cli
