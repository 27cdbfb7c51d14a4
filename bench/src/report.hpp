#pragma once

#include "machine.hpp"
#include "options.hpp"
#include "row.hpp"

#include <string>
#include <vector>

namespace holdfast::bench {

/// A row that could not be measured.
struct failed_row {
  std::string store;
  workload what = workload::uncontended;
  std::string why;
  int exit_code = 1;
  std::string peer = {};  ///< Empty: ours.
};

/// Everything one call of `holdfast bench` found.
struct report {
  machine where;
  std::string when;
  options how;
  std::vector<row> rows;
  std::vector<failed_row> failures;
};

std::string table_head();
std::string table_line(const row& r);  ///< One line, with its goals.

std::string to_json(const report& r);  ///< Fields: docs/bench.md. Stable: fields are added, never changed.
std::string to_svg(const report& r);

}  // namespace holdfast::bench
