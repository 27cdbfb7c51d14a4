#pragma once

#include "contest.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {

/// The releases of Redisson that are tested, as a GoogleTest parameter, and how one is named.
std::vector<std::string> redisson_versions();
std::string version_label(const std::string& version);
bool has_nonreentrant(const std::string& version);  ///< Since 4.4.

/// A kind of lock that both sides have.
struct shared_kind {
  std::string label;
  std::string theirs;        ///< The Java peer's word for it.
  std::string ours;          ///< lock_holder's.
  std::string options = {};  ///< What lock_holder adds.
};

/// A server, a Redisson of one release, and us; the lock is called `my`.
class redisson_test : public ::testing::Test {
 protected:
  /// Short, for those who are killed.
  static constexpr std::chrono::milliseconds brief_ttl{1500};
  static constexpr std::chrono::milliseconds usual_ttl{30'000};
  /// Redisson's fairLockWaitTimeout, which all clients of a name must agree on.
  static constexpr std::chrono::milliseconds fair_wait{300'000};

  explicit redisson_test(std::string version) : version_(std::move(version)) {}
  void SetUp() override;
  /// Nothing is left but the token, what a number was made for, and answers that both sides keep for a while.
  void TearDown() override;

  const redis_server& server() const { return contest_.server(); }
  std::string url() const { return server().url() + url_options; }
  holdfast::client ours(std::chrono::milliseconds ttl = usual_ttl) const;

  std::shared_ptr<foreign_peer> start_java(std::chrono::milliseconds ttl = usual_ttl) const;
  /// The Java program of this test, started when it is first asked for.
  std::shared_ptr<foreign_peer> java();
  contender our_contender(const shared_kind& kind, std::chrono::milliseconds ttl = usual_ttl) const;
  contender their_contender(const shared_kind& kind, const std::string& thread = "main");
  static contender their_contender(std::shared_ptr<foreign_peer> peer, const shared_kind& kind,
                                   const std::string& thread = "main");

  contest contest_{
      "local n = redis.call('HLEN', 'holdfast_wait:{my}') + redis.call('LLEN', 'redisson_lock_queue:{my}') "
      "for _, c in ipairs(redis.call('PUBSUB', 'CHANNELS', '*{my}*')) do "
      "n = n + redis.call('PUBSUB', 'NUMSUB', c)[2] end return n"};
  std::string url_options;
  std::vector<std::string> documented{
      "redisson_lock_token:", "redisson_unlock_latch:", "holdfast_kind:", "holdfast_done:", "holdfast_last:"};

 private:
  std::string version_;
  std::shared_ptr<foreign_peer> java_;
};

/// The same for tests that are run once for every release.
class redisson_release_test : public redisson_test, public ::testing::WithParamInterface<std::string> {
 protected:
  redisson_release_test() : redisson_test(GetParam()) {}
};

}  // namespace holdfast::testing
