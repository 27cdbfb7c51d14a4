#pragma once

#include "engine.hpp"
#include "support/executors.hpp"
#include "support/fake_scheduler.hpp"
#include "support/scripted_store.hpp"

#include <gtest/gtest.h>

#include <holdfast/mutex.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

/// One acquisition under test: what was answered, and how often.
struct asked {
  std::shared_ptr<detail::acquisition> under_way;
  int answers = 0;
  std::shared_ptr<detail::hold> held;
  failure why;

  bool open() const { return answers == 0; }
  bool granted() const { return answers == 1 && held != nullptr; }
  bool failed(errc code) const { return answers == 1 && !held && why.code == code; }
  std::uint64_t token() const { return held->token().value(); }
  result<void> release() { return held->release(); }
};

/// An engine on fake parts: one thread, no time but the test's, a store the test plays.
struct rig {
  explicit rig(client_options o = {}, std::string identity = "scripted:", std::shared_ptr<fake_scheduler> clock = {});
  rig(const rig&) = delete;
  rig& operator=(const rig&) = delete;
  ~rig();

  /// Asks for a mutex as the primitives do, but with the answer in the test's hands.
  std::shared_ptr<asked> ask(const std::string& name, acquire_options options = {}, std::stop_token stop = {},
                             ordering order = ordering::any);
  std::shared_ptr<asked> ask(spi::claim claim, acquire_options options = {}, std::stop_token stop = {});

  client connected() const { return *user; }
  client_stats stats() const { return engine->stats(); }
  /// When a lease of `ttl` granted now stops being valid.
  lease_clock::time_point end_of(std::chrono::nanoseconds ttl) const;

  std::shared_ptr<fake_scheduler> time;
  std::shared_ptr<manual_executor> callbacks = std::make_shared<manual_executor>();
  std::shared_ptr<manual_executor> losses = std::make_shared<manual_executor>();
  std::shared_ptr<manual_executor> workers = std::make_shared<manual_executor>();
  std::shared_ptr<scripted_store> store;
  std::shared_ptr<detail::engine> engine;
  std::optional<client> user;  ///< What the program has of the engine, besides its locks.
  std::vector<std::weak_ptr<detail::acquisition>> under_way;
};

}  // namespace holdfast::testing
