#pragma once

#include "children.hpp"
#include "crew.hpp"
#include "wait_histogram.hpp"

#include <pthread.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace holdfast::bench {

inline constexpr std::size_t max_slices = 32;
inline constexpr std::size_t cache_line = 64;

enum side : std::size_t { side_floor = 0, side_ours = 1, sides = 2 };

/// What the lock protects: plain memory, no atomics. Two workers inside at once lose updates, and that is the alarm.
struct alignas(cache_line) guarded_counter {
  volatile std::uint64_t value;
  volatile std::uint64_t last_owner;  ///< Worker number + 1.
  volatile std::uint64_t last_token;
};

/// What one worker did on one side; written by that worker alone. Slice 0 is the warm-up.
struct alignas(cache_line) tally {
  std::uint64_t pairs;
  std::array<std::uint64_t, max_slices + 1> slice_pairs;
  std::array<std::uint64_t, max_slices + 1> slice_handovers;
  std::array<std::int64_t, max_slices + 1> slice_end;  ///< Steady clock, nanoseconds.
  wait_histogram waits;
};

/// What the whole crew shares.
struct crew_control {
  failure_note note;
  pthread_barrier_t gathered;
  pthread_barrier_t released;
  std::int64_t began;     ///< Of the slice under way.
  std::int64_t deadline;  ///< Of the slice under way.
  std::array<std::array<std::int64_t, max_slices + 1>, sides> slice_began;
  std::array<guarded_counter, sides> guards;
};

/// One worker's whole life; called on its thread. `open_floor` is called by those who take part in the floor.
struct worker_post {
  const crew_plan& plan;
  const assignment& what;
  crew_control& control;
  tally* tallies;  ///< Of this worker, one per side.
  unsigned number;
  subject* floor;  ///< May be nullptr.
  subject& ours;
};
void work(const worker_post& post);

/// Does this worker run floor slices?
inline bool measures_floor(const crew_plan& plan, unsigned worker) {
  return plan.floor_by == floor_design::crew::same || worker == 0;
}

}  // namespace holdfast::bench
