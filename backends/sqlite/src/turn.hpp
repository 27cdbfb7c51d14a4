#pragma once

#include "descriptor.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>

namespace holdfast::sqlite {

/// Whose turn it is to write: a futex that all processes map from one file, so that writers wait for each other in the
/// kernel instead of in SQLite's sleeping busy handler, and are woken the moment it comes free.
///
/// Only a courtesy: what keeps writers apart is SQLite's own lock. So nothing breaks when a process dies with its turn,
/// is stopped with it, or cannot map the file: whoever has waited for `patience` goes on to SQLite without, and takes
/// the turn over once SQLite has let him in. A futex and not a file lock, because waiting for a file lock cannot end at
/// a deadline; and an uncontended turn costs no system call.
///
/// Thread safety: take and give are for the thread that has the connection.
class turn {
 public:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds patience{100};

  turn() noexcept = default;
  /// Maps the file, which may be new. Without effect if that does not work. `tag` tells clients apart.
  turn(const descriptor& file, std::uint32_t tag) noexcept;
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;
  ~turn();

  bool mapped() const noexcept { return word_ != nullptr; }

  /// Waits for the turn, at most `patience` and not beyond `deadline`. False: go on without.
  bool take(clock::time_point deadline) noexcept;
  /// Makes it ours, whoever has it: SQLite let us write, so he does not use it; or he will be done in a moment.
  void take_over() noexcept;
  void give() noexcept;  ///< Without effect if it is not ours. The destructor does it too.

 private:
  bool take_awake() noexcept;
  bool wait(std::uint32_t seen, clock::time_point until) noexcept;

  std::atomic<std::uint32_t>* word_ = nullptr;
  std::uint32_t tag_ = 1;
};

}  // namespace holdfast::sqlite
