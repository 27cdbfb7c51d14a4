#pragma once

#include "contender.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/testing/zookeeper_server.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>

namespace holdfast::testing {

/// A server, a foreign program, and us; the lock is `shop/my` to us and `/shop/my` to them.
class zookeeper_interop : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream skipped(HOLDFAST_PEERS "/skipped");
    if (std::string reason; std::getline(skipped, reason)) GTEST_SKIP() << reason;
  }

  client ours() const { return connect(server_.url(), {.ttl = std::chrono::seconds(20)}); }
  /// A process of ours that takes a lock of `kind`, as lock_holder spells it.
  contender our_contender(const std::string& kind, std::chrono::milliseconds ttl = std::chrono::seconds(20)) const {
    return {holder_process::connected(server_.url(), ttl),
            {.acquire = "acquire " + kind + " shop/my", .release = "release"}};
  }
  /// Waits until so many stand in the line of `name`, as we see it.
  bool waiting(std::size_t n) const {
    const client c = ours();
    return eventually([&] {
      const auto seen = c.inspect("shop/my");
      return !seen.empty() && seen[0].waiters.size() == n;
    });
  }

  zookeeper_server server_;
};

}  // namespace holdfast::testing
