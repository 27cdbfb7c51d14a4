#pragma once

#include "threaded_runtime.hpp"

#include <holdfast/backend.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/temporary_directory.hpp>

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace holdfast::sqlite_tests {

using namespace std::chrono_literals;
using testing::eventually;
using testing::live_timeout;

/// What a call answered, on whatever thread.
template <class T>
class answer {
 public:
  spi::completion<T> slot() {
    return [state = state_](result<T> got) {
      std::lock_guard lock(state->mutex);
      EXPECT_FALSE(state->got.has_value()) << "completed twice";
      state->got.emplace(std::move(got));
      state->there.notify_all();
    };
  }
  bool there() const {
    std::lock_guard lock(state_->mutex);
    return state_->got.has_value();
  }
  result<T> wait() {
    std::unique_lock lock(state_->mutex);
    if (!state_->there.wait_for(lock, live_timeout, [&] { return state_->got.has_value(); }))
      return {errc::timed_out, "no answer"};
    return *state_->got;
  }

 private:
  struct shared {
    std::mutex mutex;
    std::condition_variable there;
    std::optional<result<T>> got;
  };
  std::shared_ptr<shared> state_ = std::make_shared<shared>();
};

/// One client of a store, asked directly.
class sqlite_client {
 public:
  sqlite_client(const movable_clock& clock, const std::string& url, std::string name = "test");
  ~sqlite_client();

  threaded_runtime& runtime() { return *runtime_; }
  spi::backend& store() { return *backend_; }

  enum class line { join, pass_by };
  result<spi::entry_result> enter(const spi::claim& c, line l = line::join, spi::caller from = spi::caller::may_block,
                                  std::uint32_t tokens = 1);
  /// The grant; the test fails if there is none.
  spi::granted take(const spi::claim& c, std::uint32_t tokens = 1);
  void queue(const spi::claim& c);  ///< Enters a claim that must have to wait.
  answer<spi::wake> watch(const spi::claim& c);
  bool leave(const spi::claim& c);
  spi::renewal_outcome renew(const spi::claim& c);
  result<bool> convert(const spi::claim& c, spi::access to);
  result<spi::count_reply> count(const std::string& name, spi::kind kind, spi::count_request::op what,
                                 std::int64_t amount = 0, spi::owner_id id = spi::owner_id::random());
  std::vector<entry> inspect(const std::string& prefix = {});
  bool evict(const std::string& name);

 private:
  std::unique_ptr<threaded_runtime> runtime_;
  std::unique_ptr<spi::backend> backend_;
};

/// Made the way connect() makes it.
result<std::unique_ptr<spi::backend>> open_store(const std::string& url, spi::runtime& engine);

spi::claim mutex_claim(std::string name, std::chrono::nanoseconds ttl = 30s);
spi::claim shared_claim(std::string name, spi::access access, std::chrono::nanoseconds ttl = 30s);
spi::claim permit_claim(std::string name, std::uint32_t permits, std::uint32_t limit);

class sqlite_test : public ::testing::Test {
 public:
  std::string path() const { return (directory_.path() / "locks.db").string(); }
  std::string url() const { return "sqlite://" + path(); }
  std::unique_ptr<sqlite_client> client(std::string name = "test") {
    return std::make_unique<sqlite_client>(clock_, url(), std::move(name));
  }

 protected:
  testing::temporary_directory directory_;
  movable_clock clock_;
};

bool is_granted(const result<spi::entry_result>& r);
bool is_busy(const result<spi::entry_result>& r);

}  // namespace holdfast::sqlite_tests
