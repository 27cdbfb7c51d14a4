#pragma once

#include "layout.hpp"

#include <holdfast/inspect.hpp>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace holdfast::mysql {

/// What a server said of itself.
struct symptoms {
  std::map<std::string, std::string, std::less<>> said;  ///< Its variables, and what question() asks beside them.
  std::chrono::microseconds ahead{0};                    ///< Its clock, before ours.
  std::chrono::microseconds doubt{0};                    ///< How far off that may be: the round trip.
};

/// The statement that asks for what is no variable, in rows of name and value.
std::string question(const sql::layout& which);

/// What is good about them and what endangers locks, with its remedy.
std::vector<finding> judge(const symptoms& seen, const sql::layout& which);

}  // namespace holdfast::mysql
