#pragma once

#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/exclusive_lock.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/holder_process.hpp>
#include <holdfast/testing/store_fixture.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

/// The suites every store is held to. A backend's test program links the OBJECT library holdfast_conformance, which has
/// the bodies, and instantiates each suite with its store_parameter; see tests/conformance/memory_conformance.cpp.
namespace holdfast::testing {

/// What a test of any suite has: a store of its own.
class with_store {
 protected:
  explicit with_store(const store_parameter& kind) : store_(kind.make()) {}

  store_fixture& store() const { return *store_; }
  spi::capabilities supports() const { return store_->supports(); }

  /// A client of its own: own threads, own queues, as another process would have.
  client connect(client_options options = {}) const { return store_->make_client(std::move(options)); }
  /// The same, whose leases are renewed to last `ttl`.
  client connect_with_ttl(std::chrono::nanoseconds ttl) const { return connect({.ttl = ttl}); }
  holder_process start_holder(std::chrono::milliseconds ttl = std::chrono::seconds(30),
                              const holder_process::environment& extra = {}) const {
    return holder_process::connected(store_->url(), ttl, extra);
  }

  /// What inspect says of one name; empty holders and waiters when it says nothing.
  static entry look_at(const client& c, const std::string& name);
  static std::size_t waiters(const client& c, const std::string& name) { return look_at(c, name).waiters.size(); }
  static std::size_t holders(const client& c, const std::string& name) { return look_at(c, name).holders.size(); }

  /// Waits until `n` wait for `name` as the store sees it.
  static ::testing::AssertionResult waiting(const client& c, const std::string& name, std::size_t n);
  /// Checks that within the promised second nobody waits for `name` any more.
  static ::testing::AssertionResult nobody_waits(const client& c, const std::string& name);
  /// Checks that within the promised second `name` is gone from inspect.
  static ::testing::AssertionResult nothing_left(const client& c, const std::string& name);
  /// Waits until the lease knows that it is lost.
  static ::testing::AssertionResult gets_lost(const lease& held);

 private:
  std::unique_ptr<store_fixture> store_;
};

/// A suite that runs once per store.
class conformance : public ::testing::TestWithParam<store_parameter>, protected with_store {
 protected:
  conformance() : with_store(GetParam()) {}
};

/// A suite that runs once per store and kind of exclusive lock.
using store_and_lock = std::tuple<store_parameter, lock_kind>;
class lock_conformance : public ::testing::TestWithParam<store_and_lock>, protected with_store {
 protected:
  lock_conformance() : with_store(std::get<0>(GetParam())) {}
  /// Skips, after checking that it is refused, what the store cannot do.
  void SetUp() override;

  lock_kind kind() const { return std::get<1>(GetParam()); }
  std::unique_ptr<exclusive_lock> make(const client& c, const std::string& name, lock_options options = {}) const {
    return make_lock(kind(), c, name, options);
  }
};

/// Names the instances: `.../sqlite`, `.../sqlite_shared_mutex`.
inline std::string store_name(const ::testing::TestParamInfo<store_parameter>& info) { return info.param.label; }
std::string store_and_lock_name(const ::testing::TestParamInfo<store_and_lock>& info);
/// Every kind of exclusive lock, as the second half of store_and_lock.
inline auto every_lock() {
  return ::testing::Values(lock_kind::mutex, lock_kind::recursive_mutex, lock_kind::shared_mutex,
                           lock_kind::permit_semaphore, lock_kind::multi_mutex, lock_kind::quorum_mutex);
}

/// Those that are a hold of their own in the store, not made of mutexes: enough where each case costs a process.
inline auto every_plain_lock() {
  return ::testing::Values(lock_kind::mutex, lock_kind::recursive_mutex, lock_kind::shared_mutex,
                           lock_kind::permit_semaphore);
}

// Promises of every exclusive lock.
class exclusive_conformance : public lock_conformance {};
class waiting_conformance : public lock_conformance {};
class lease_conformance : public lock_conformance {};
class loss_conformance : public lock_conformance {};
class option_conformance : public lock_conformance {};
class operation_conformance : public lock_conformance {};

/// The same promises where another process is in play. Skipped where none can be.
class process_conformance : public lock_conformance {
 protected:
  void SetUp() override;
};

// One suite per primitive. Each skips, after checking the refusal, where the store cannot do it.
class mutex_conformance : public conformance {};
class fifo_conformance : public conformance {
 protected:
  void SetUp() override;
};
class recursive_mutex_conformance : public conformance {};
class shared_mutex_conformance : public conformance {
 protected:
  void SetUp() override;
};
class permit_semaphore_conformance : public conformance {
 protected:
  void SetUp() override;
};
class counting_semaphore_conformance : public conformance {
 protected:
  void SetUp() override;
};
class latch_conformance : public conformance {
 protected:
  void SetUp() override;
};
class multi_mutex_conformance : public conformance {};
class quorum_mutex_conformance : public conformance {
 protected:
  void SetUp() override;
};
class striped_mutex_conformance : public conformance {};
class cell_conformance : public conformance {
 protected:
  void SetUp() override;
};
class fence_conformance : public conformance {
 protected:
  void SetUp() override;
};

// What surrounds them.
class inspect_conformance : public conformance {};
class watch_conformance : public conformance {};
class stats_conformance : public conformance {};
class coroutine_conformance : public conformance {};
class name_conformance : public conformance {};
class lifetime_conformance : public conformance {};
class fork_conformance : public conformance {};
class clock_conformance : public conformance {};
class capability_conformance : public conformance {};

// Many contenders; in an OBJECT library of their own, holdfast_contenders.
class thread_contenders : public conformance {};
class process_contenders : public conformance {
 protected:
  void SetUp() override;
};
class pending_contenders : public conformance {};

}  // namespace holdfast::testing
