#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace holdfast::testing {

/// Servers that earlier tests of this program started and left as they were: to start one costs more than most tests.
///
/// Thread safety: safe.
template <class Server>
class used_servers {
 public:
  /// An idle one, or one that `make` makes.
  template <class Make>
  std::unique_ptr<Server> take(Make make) {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto one = std::move(idle_.back());
        idle_.pop_back();
        return one;
      }
    }
    return make();
  }
  void give_back(std::unique_ptr<Server> one) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(one));
  }

  static used_servers& of_this_program() {
    static used_servers all;
    return all;
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Server>> idle_;
};

}  // namespace holdfast::testing
