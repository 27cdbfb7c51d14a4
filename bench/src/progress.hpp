#pragma once

#include "options.hpp"

#include <chrono>
#include <string>

namespace holdfast::bench {

/// Tells on stderr what is being measured: one line that is rewritten where somebody watches, else a line per row.
class progress {
 public:
  explicit progress(options::progress_line wanted);
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress();

  void begin(std::size_t number, std::size_t of, const std::string& what);
  void update(double done);
  void clear();  ///< Before anything else is written to the terminal.

 private:
  enum class style { rewritten, plain };

  const style style_;
  std::string label_;
  std::chrono::steady_clock::time_point drawn_;
  std::size_t width_ = 0;
};

}  // namespace holdfast::bench
