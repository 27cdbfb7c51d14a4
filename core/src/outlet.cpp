#include "outlet.hpp"

#include "fork_generation.hpp"

#include <utility>

namespace holdfast::detail {

namespace {

thread_local const void* innermost = nullptr;

}  // namespace

outlet::outlet(std::function<void(log_level, std::string_view)> log)
    : log_(std::move(log)), generation_(fork_generation()) {}

void outlet::log(log_level level, std::string_view line) noexcept {
  if (!log_) return;
  try {
    say([&] { log_(level, line); });
  } catch (...) {
    // A logger that throws has nobody left to tell.
  }
}

void outlet::shut() noexcept {
  shut_ = true;
  if (fork_generation() != generation_) return;  // whoever was speaking in the parent does not go on here
  const int mine = turn::of_this_thread(*this);
  for (int now = turns_; now > mine; now = turns_) turns_.wait(now);
}

// The turn is counted before shut_ is read, and shut() reads the count after it set shut_: one of the two sees the
// other.
outlet::turn::turn(outlet& of) noexcept : of_(of), outer_(static_cast<const turn*>(std::exchange(innermost, this))) {
  ++of_.turns_;
}

outlet::turn::~turn() {
  innermost = outer_;
  --of_.turns_;
  of_.turns_.notify_all();
}

int outlet::turn::of_this_thread(const outlet& of) noexcept {
  int count = 0;
  for (auto* t = static_cast<const turn*>(innermost); t != nullptr; t = t->outer_) count += &t->of_ == &of ? 1 : 0;
  return count;
}

}  // namespace holdfast::detail
