#pragma once

#include <chrono>
#include <utility>

namespace holdfast::testing {

/// How long anything in a live test may take before the test fails. Long, because it costs nothing when all is well and
/// the machine may be busy with other tests.
inline constexpr std::chrono::seconds live_timeout{30};

/// How soon what is promised "within a second" must be there.
inline constexpr std::chrono::seconds promised_second{1};

/// How long a test looks on to see that something does not happen. Long enough to catch the usual mistake, short
/// enough to be paid often: a wait that ends in time is the better proof wherever there is one.
inline constexpr std::chrono::milliseconds short_wait{120};

/// Waits a moment between two looks; longer with every look, so that a waiting test leaves the processor to the tested.
class look_out {
 public:
  explicit look_out(std::chrono::nanoseconds limit) : deadline_(std::chrono::steady_clock::now() + limit) {}
  bool over() const { return std::chrono::steady_clock::now() >= deadline_; }
  void pause();

 private:
  std::chrono::steady_clock::time_point deadline_;
  std::chrono::microseconds next_{50};
};

/// True as soon as `condition()` is; false if it is not by the deadline.
template <class Condition>
[[nodiscard]] bool eventually(Condition&& condition, std::chrono::nanoseconds limit = live_timeout) {
  look_out watch(limit);
  while (!std::forward<Condition>(condition)()) {
    if (watch.over()) return static_cast<bool>(condition());
    watch.pause();
  }
  return true;
}

/// How long `action()` took.
template <class Action>
std::chrono::nanoseconds time_taken(Action&& action) {
  const auto start = std::chrono::steady_clock::now();
  std::forward<Action>(action)();
  return std::chrono::steady_clock::now() - start;
}

}  // namespace holdfast::testing
