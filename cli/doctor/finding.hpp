#pragma once

#include <holdfast/uri.hpp>

#include <string>
#include <vector>

namespace holdfast::cli {

/// One thing `holdfast doctor` has to say about a store as it is set up.
struct finding {
  enum class level {
    fact,     ///< What it guarantees.
    warning,  ///< Locks hold, but something is not as it should be.
    danger,   ///< Locks may fail.
  };
  level how = level::fact;
  std::string text;
};
const char* to_string(finding::level how) noexcept;

/// What can be seen of a store that lives in files of this machine, from its URL alone. Requires: it was connected to.
std::vector<finding> examine_sqlite(const uri& where);
std::vector<finding> examine_file(const uri& where);
std::vector<finding> examine_memory(const uri& where);

}  // namespace holdfast::cli
