#pragma once

#include "contender.hpp"

#include <holdfast/testing/redis_server.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::testing {

/// The server of one test, and what must hold whoever the contenders are. Expectations, with GoogleTest.
class contest {
 public:
  /// How soon whoever waits must have the lock after a release, in the best of a few rounds: a busy machine may delay
  /// any one of them.
  static constexpr std::chrono::milliseconds promptly{100};

  /// `signs`: a script that counts whatever shows at the server that somebody waits; empty where nothing does.
  explicit contest(std::string signs) : signs_(std::move(signs)) {}

  const redis_server& server() const noexcept { return server_; }

  /// The holder releases, the waiter has it; a few times over.
  void expect_woken(contender& holder, contender& waiter) const;
  /// The holder is killed; the waiter has it when the ttl is over, not before. `left`: the command that tells how many
  /// milliseconds that is.
  void expect_freed_by_ttl(contender& holder, contender& waiter, const std::vector<std::string>& left) const;
  /// The first in line is killed; the second has the lock when it is released.
  void expect_passed_over(contender& holder, contender& victim, contender& next) const;
  /// Tells each its command, with the loops and the counter's file added, and waits for all: no increment is lost.
  void expect_exact_count(std::vector<contender>& all, const std::vector<std::string>& commands, int share) const;
  /// Nothing stays in the store but keys that start like one of `documented`, and, when somebody was killed, keys of
  /// ours that end by themselves.
  void expect_nothing_left(const std::vector<std::string>& documented) const;

  void somebody_was_forced_out() { left_alone_ = true; }

  /// Lets it begin to wait, until that shows.
  void let_wait(contender& waiter) const;

 private:
  long signs() const;
  std::vector<std::string> keys_but(const std::vector<std::string>& prefixes) const;
  bool ends_by_itself(const std::string& key) const;

  std::string signs_;
  mutable bool left_alone_ = false;  ///< Somebody could not clear up.
  redis_server server_;
};

}  // namespace holdfast::testing
