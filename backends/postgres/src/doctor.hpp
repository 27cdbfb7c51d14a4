#pragma once

#include "layout.hpp"

#include <holdfast/inspect.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::postgres {

/// What a database said of itself.
struct symptoms {
  std::map<std::string, std::string, std::less<>> said;  ///< Columns of question().
  std::chrono::microseconds ahead{0};                    ///< Its clock, before ours.
  std::chrono::microseconds doubt{0};                    ///< How far off that may be: the round trip.
  bool pooled = false;                                   ///< Something stands between us and the server.
};

/// The statement that asks for them, in one row.
std::string question(const sql::layout& which);

/// What is good about them and what endangers locks, with its remedy.
std::vector<finding> judge(const symptoms& seen, const sql::layout& which);

}  // namespace holdfast::postgres
