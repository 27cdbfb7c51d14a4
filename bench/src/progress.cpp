#include "progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace holdfast::bench {

progress::progress(options::progress_line wanted)
    : style_(wanted == options::progress_line::always || ::isatty(STDERR_FILENO) != 0 ? style::rewritten
                                                                                      : style::plain) {}

progress::~progress() { clear(); }

void progress::begin(std::size_t number, std::size_t of, const std::string& what) {
  label_ = '[' + std::to_string(number) + '/' + std::to_string(of) + "] " + what;
  if (style_ == style::plain) {
    std::fprintf(stderr, "%s\n", label_.c_str());
    return;
  }
  drawn_ = {};
  update(0);
}

void progress::update(double done) {
  const auto now = std::chrono::steady_clock::now();
  if (style_ == style::plain || now - drawn_ < std::chrono::milliseconds(100)) return;
  drawn_ = now;
  constexpr int cells = 20;
  const int filled = static_cast<int>(std::lround(std::clamp(done, 0.0, 1.0) * cells));
  std::string line = label_ + "  [" + std::string(static_cast<std::size_t>(filled), '#') +
                     std::string(static_cast<std::size_t>(cells - filled), '.') + "] " +
                     std::to_string(static_cast<int>(std::clamp(done, 0.0, 1.0) * 100)) + " %";
  const std::size_t length = line.size();
  if (length < width_) line += std::string(width_ - length, ' ');  // over the rest of a longer one
  width_ = length;
  std::fprintf(stderr, "\r%s", line.c_str());
  std::fflush(stderr);
}

void progress::clear() {
  if (style_ == style::plain || width_ == 0) return;
  std::fprintf(stderr, "\r%*s\r", static_cast<int>(width_), "");
  std::fflush(stderr);
  width_ = 0;
}

}  // namespace holdfast::bench
