#pragma once

#include "support/rig.hpp"

#include <holdfast/operation.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace holdfast::testing {

/// Several stores on one clock, with a mutex of one name on each, and a wait for them under way.
struct group {
  explicit group(std::size_t count, client_options options = {}) {
    for (std::size_t i = 0; i < count; ++i) {
      stores.push_back(std::make_unique<rig>(options, "store" + std::to_string(i), time));
      members.push_back(std::make_unique<mutex>(stores.back()->connected(), "x"));
    }
  }

  std::vector<std::reference_wrapper<mutex>> list() const {
    std::vector<std::reference_wrapper<mutex>> all;
    for (const auto& m : members) all.emplace_back(*m);
    return all;
  }

  rig& operator[](std::size_t i) { return *stores[i]; }
  scripted_store& store(std::size_t i) { return *stores[i]->store; }

  /// Runs what is ready on all executors; group waits post to the first store's.
  void settle() {
    for (bool ran = true; ran;) {
      ran = false;
      for (const auto& s : stores)
        while (s->workers->run_one() || s->losses->run_one() || s->callbacks->run_one()) ran = true;
    }
  }
  void advance(std::chrono::nanoseconds by) {
    settle();
    // In steps, as threads of their own would run between the timers.
    const auto target = time->now() + by;
    while (time->next() && *time->next() <= target) {
      time->run_next();
      settle();
    }
    if (time->now() < target) time->jump(target - time->now());
    settle();
  }

  /// Nothing is held anywhere, as far as the engines know, and every grant given out was left.
  std::uint64_t held() const {
    std::uint64_t all = 0;
    for (const auto& s : stores) all += s->stats().held;
    return all;
  }

  std::shared_ptr<fake_scheduler> time = std::make_shared<fake_scheduler>();
  std::vector<std::unique_ptr<rig>> stores;
  std::vector<std::unique_ptr<mutex>> members;
};

/// The outcome of an operation, once it is there.
struct pending_lease {
  explicit pending_lease(operation<lease> op) : under_way(std::move(op)) {}

  bool ready() const { return under_way->ready(); }
  lease get() { return std::exchange(under_way, std::nullopt)->get(); }
  std::error_code failure_code() {
    try {
      (void)get();
    } catch (const error& e) {
      return e.code();
    }
    return {};
  }

  std::optional<operation<lease>> under_way;
};

}  // namespace holdfast::testing
