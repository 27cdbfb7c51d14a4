#pragma once

#include "connection.hpp"
#include "deadline_mutex.hpp"
#include "outbox.hpp"
#include "sidecar.hpp"
#include "turn.hpp"

#include <holdfast/backend.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>

namespace holdfast::sqlite {

template <class T>
struct unwrapped {
  using type = T;
};
template <class T>
struct unwrapped<result<T>> {
  using type = T;
};
/// What a body comes to, be it a plain value or a result.
template <class Body>
using outcome_of = typename unwrapped<std::invoke_result_t<Body&>>::type;

/// The connection, for one call at a time: its mutex, the writers' turn, begin and commit, and what follows a commit.
///
/// The mutex is held across I/O, alone in all of Holdfast: an SQLite connection serves one thread at a time anyway, the
/// I/O is local, and every wait for it ends at the call's deadline.
///
/// A body may throw sql_error, which rolls back. A failure it returns is committed all the same: what it cleared away
/// on the way stays cleared.
///
/// Thread safety: safe.
class transactions {
 public:
  using clock = std::chrono::steady_clock;

  /// How a write ended, told under the mutex.
  struct listener {
    std::function<void()> committed;
    std::function<void()> rolled_back;
  };

  transactions(connection& db, const sidecar& beside, spi::runtime& engine, listener ends);

  /// One transaction that writes.
  template <class Body>
  result<outcome_of<Body>> write(Body&& body) {
    return perform<mode::write>(body);
  }
  /// One statement that writes and stands alone.
  template <class Body>
  result<outcome_of<Body>> single(Body&& body) {
    return perform<mode::single>(body);
  }
  /// One transaction that only reads.
  template <class Body>
  result<outcome_of<Body>> read(Body&& body) {
    return perform<mode::read>(body);
  }

  /// Looks whether the file is still the one that was opened; errc::rejected if not, now and for ever after.
  result<void> check_file();

  /// The log has grown so long that it should be copied into the database, or was begun afresh.
  bool upkeep_due() const noexcept { return checkpoint_due_.load() || flush_due_.load(); }
  /// Does what is due. Waits for the disk; calls meanwhile do not.
  void keep_up() noexcept;

 private:
  enum class mode : std::uint8_t { read, single, write };

  template <mode Mode, class Body>
  result<outcome_of<Body>> perform(Body& body) {
    const auto deadline = clock::now() + engine_.options().request_timeout;
    std::unique_lock lock(mutex_, std::defer_lock);
    if (auto ready = prepare(lock, deadline); !ready) return ready.error();
    try {
      begin(Mode, deadline);
      result<outcome_of<Body>> outcome = body();
      end(Mode);
      return outcome;
    } catch (const sql_error& e) {
      return abandon(e);
    }
  }

  result<void> prepare(std::unique_lock<deadline_mutex>& lock, clock::time_point deadline);
  result<void> look_at_file();
  void begin(mode m, clock::time_point deadline);
  void end(mode m);
  void checkpoint() noexcept;
  failure abandon(const sql_error& e) noexcept;
  void inherit_turn() noexcept;  ///< SQLite let us write: the turn is ours now if it was not before.
  void give_turn() noexcept;

  spi::runtime& engine_;
  const sidecar& beside_;
  const listener ends_;

  deadline_mutex mutex_;
  connection& db_;
  turn turn_;
  bool has_turn_ = false;
  bool gone_ = false;
  int commits_ = 0;
  int log_pages_ = 0;
  clock::time_point looked_at_file_;
  statement begin_write_, begin_read_, commit_;
  std::atomic<bool> checkpoint_due_{false};
  std::atomic<bool> flush_due_{false};
};

}  // namespace holdfast::sqlite
