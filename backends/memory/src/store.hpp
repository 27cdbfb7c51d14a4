#pragma once

#include "count_state.hpp"
#include "lock_state.hpp"
#include "session.hpp"

#include <holdfast/backend.hpp>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace holdfast::memory {

/// What one name is to everybody: a lock, or a number, never both at a time. Its tokens go on counting through either.
struct name_state {
  explicit name_state(std::uint64_t last_token) : lock(last_token) {}

  lock_state lock;
  std::unique_ptr<count_state> count;  // of a semaphore or latch
};

/// Somebody who wants to hear of changes.
struct observer {
  const std::string prefix;
  const std::function<void()> changed;
  // Recursive: a callback may end its own observation.
  std::recursive_mutex mutex;
  bool ended = false;
};

/// One store of this process: names, cells and fences, shared by all clients that name it.
///
/// Names are spread over shards so that clients on different names seldom meet. Completions and callbacks run with
/// nothing locked.
///
/// Thread safety: safe.
class store {
 public:
  /// The store called `key`, made at the first call. Stores last as long as the process: tokens must not start again.
  static std::shared_ptr<store> named(const std::string& key);

  /// A name's state under its shard's lock. Declare `wakeups` before it, fire them after it.
  class locked_name {
   public:
    locked_name(std::unique_lock<std::mutex> lock, name_state& state) : lock_(std::move(lock)), state_(&state) {}
    name_state* operator->() const noexcept { return state_; }
    name_state& operator*() const noexcept { return *state_; }

   private:
    std::unique_lock<std::mutex> lock_;
    name_state* state_;
  };
  /// `now` and `woken`: making a name may be the time to throw out names nobody uses.
  locked_name make(const std::string& name, spi::time_point now, wakeups& woken);
  std::optional<locked_name> find(const std::string& name);

  void forget_waiters_of(const session& client, spi::time_point now, wakeups& woken);
  std::vector<entry> inspect(const std::string& prefix, spi::time_point now, wakeups& woken);

  spi::cell_value load_cell(const std::string& name);
  bool exchange_cell(const std::string& name, std::uint64_t expected, std::string value, const spi::owner_id& id);
  fencing_token admit(const std::string& name, fencing_token token);

  std::function<void()> observe(const std::string& prefix, std::function<void()> changed);
  /// Call after every change, with nothing locked.
  void changed(const std::string& name) {
    if (observed_.load() != 0) tell_observers(name);
  }

 private:
  struct shard {
    std::mutex mutex;
    std::unordered_map<std::string, name_state> names;
    std::uint64_t last_forgotten_token = 0;  // a name thrown out and made again goes on after it
    std::size_t room = 1024;                 // names there may be before idle ones are thrown out
  };
  struct stored_cell {
    spi::cell_value now;
    spi::owner_id writer;  // of the latest version
  };

  shard& shard_of(const std::string& name) noexcept;
  static void throw_out_idle(shard& s, spi::time_point now, wakeups& woken);
  void tell_observers(const std::string& name);

  std::array<shard, 16> shards_;

  std::mutex cells_mutex_;  // guards cells_ and fences_
  std::unordered_map<std::string, stored_cell> cells_;
  std::unordered_map<std::string, fencing_token> fences_;

  std::atomic<std::size_t> observed_{0};
  std::mutex observers_mutex_;  // guards observers_
  std::vector<std::shared_ptr<observer>> observers_;
};

}  // namespace holdfast::memory
