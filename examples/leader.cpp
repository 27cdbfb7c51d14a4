// A periodic job that runs in one process at a time: start as many copies as you like.
#include <holdfast/holdfast.hpp>

#include <condition_variable>
#include <iostream>
#include <mutex>

using namespace std::chrono_literals;

/// Waits for the next turn. False at once when leadership is lost.
bool next_turn(std::stop_token lost, std::chrono::milliseconds period) {
  std::mutex mutex;
  std::condition_variable_any tick;
  std::unique_lock lock(mutex);
  tick.wait_for(lock, lost, period, [] { return false; });
  return !lost.stop_requested();
}

int main() {
  // [lead]
  const auto store = holdfast::connect({.ttl = 5s, .name = "nightly-report"});
  holdfast::mutex leadership(store, "jobs/report");

  auto lease = leadership.acquire();  // copies that are not the leader wait here
  std::cout << "leading\n";
  for (int turn = 1; turn <= 3; ++turn) {  // a real job has no end
    if (!next_turn(lease.lost(), 10ms)) {
      std::cout << "lost: " << holdfast::to_string(lease.loss_cause()) << '\n';
      return 1;  // start again: another copy leads now
    }
    std::cout << "turn " << turn << '\n';
  }
  // [lead]
}
