#pragma once

#include "guarded.hpp"

#include <holdfast/detail/executor.hpp>

#include <deque>
#include <memory>

namespace holdfast::detail {

/// Runs tasks one after the other, in order, on somebody else's threads. Thread safety: safe.
class strand final : public executor, public std::enable_shared_from_this<strand> {
 public:
  explicit strand(std::shared_ptr<executor> under) : under_(std::move(under)) {}

  void post(unique_function<void()> task) override {
    const bool idle = queue_.with([&](state& s) {
      s.tasks.push_back(std::move(task));
      return !std::exchange(s.running, true);
    });
    if (idle) under_->post([self = shared_from_this()] { self->run_one(); });
  }

 private:
  struct state {
    std::deque<unique_function<void()>> tasks;
    bool running = false;
  };

  void run_one() {
    auto task = queue_.with([](state& s) {
      auto first = std::move(s.tasks.front());
      s.tasks.pop_front();
      return first;
    });
    // Also after a task that threw: the executor reports it, the rest goes on.
    struct next {
      strand* self;
      ~next() { self->go_on(); }
    } then{this};
    task();
  }

  void go_on() {
    const bool more = queue_.with([](state& s) { return s.running = !s.tasks.empty(); });
    if (more) under_->post([self = shared_from_this()] { self->run_one(); });
  }

  const std::shared_ptr<executor> under_;
  guarded<state> queue_;
};

}  // namespace holdfast::detail
