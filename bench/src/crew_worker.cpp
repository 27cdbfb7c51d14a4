#include "crew_block.hpp"

#include <algorithm>
#include <string>

namespace holdfast::bench {

namespace {

using std::chrono::nanoseconds;

std::int64_t now() {
  return std::chrono::duration_cast<nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// One slice of one side, as one worker sees it.
struct shift {
  contender& lock;
  guarded_counter& guard;
  tally& mine;
  std::uint64_t owner;
  std::size_t slice;
  std::int64_t deadline;
};

// Batches grow until one takes about a millisecond: looking at the clock then costs nothing, and the slice ends in
// time.
void work_alone(const shift& s) {
  std::uint64_t batch = 1;
  std::uint64_t done = 0;
  auto begin = now();
  auto end = begin;
  do {
    s.lock.pairs(batch);
    done += batch;
    end = now();
    if (end - begin < 500'000) batch *= 2;
    begin = end;
  } while (end < s.deadline);
  s.mine.slice_pairs[s.slice] = done;
  s.mine.slice_end[s.slice] = end;
  s.mine.pairs += done;
}

void check_token(guarded_counter& guard, std::uint64_t token) {
  if (token == 0) return;
  const std::uint64_t last = guard.last_token;
  if (token <= last)
    throw measurement_error(exit_failed, "fencing token " + std::to_string(token) + " after " + std::to_string(last) +
                                             ": tokens must increase");
  guard.last_token = token;
}

void work_contended(const shift& s) {
  const bool warm_up = s.slice == 0;
  std::uint64_t done = 0;
  std::uint64_t handovers = 0;
  auto asked = now();
  do {
    const std::uint64_t token = s.lock.acquire();
    // Read first, write last: whoever else is inside meanwhile writes the same number.
    const std::uint64_t before = s.guard.value;
    const auto had = now();
    check_token(s.guard, token);
    if (s.guard.last_owner != s.owner) {
      s.guard.last_owner = s.owner;
      ++handovers;
      if (!warm_up) s.mine.waits.record(nanoseconds(had - asked));
    }
    s.guard.value = before + 1;
    s.lock.release();
    ++done;
    asked = now();
  } while (asked < s.deadline);
  s.mine.slice_pairs[s.slice] = done;
  s.mine.slice_handovers[s.slice] = handovers;
  s.mine.slice_end[s.slice] = asked;
  s.mine.pairs += done;
}

// All arrive, one sets the times, all go. The same again for the next slice, so nobody is still at work on this one.
void line_up(crew_control& control, nanoseconds length, std::size_t which, std::size_t slice) {
  if (::pthread_barrier_wait(&control.gathered) == PTHREAD_BARRIER_SERIAL_THREAD) {
    control.began = now();
    control.deadline = control.began + length.count();
    control.slice_began[which][slice] = control.began;
  }
  ::pthread_barrier_wait(&control.released);
}

}  // namespace

void work(const worker_post& post) {
  using manner = crew_plan::manner;
  const auto& plan = post.plan;
  assignment what = post.what;
  if (plan.how == manner::alone && plan.workers() > 1) what.lock += '/' + std::to_string(post.number);

  const auto ours = post.ours.enlist(what);
  const auto floor = post.floor == nullptr ? nullptr : post.floor->enlist(what);
  const bool floor_alone = plan.how == manner::alone || plan.floor_by == floor_design::crew::one_worker;
  const auto warm_up = std::min<nanoseconds>(plan.slice, std::chrono::milliseconds(200));

  for (std::size_t slice = 0; slice <= plan.slices; ++slice) {
    for (const auto which : {side_floor, side_ours}) {
      line_up(post.control, slice == 0 ? warm_up : plan.slice, which, slice);
      contender* const lock = which == side_ours ? ours.get() : floor.get();
      if (lock == nullptr) continue;
      const shift s{*lock, post.control.guards[which], post.tallies[which], post.number + 1,
                    slice, post.control.deadline};
      if (which == side_ours ? plan.how == manner::alone : floor_alone) {
        work_alone(s);
      } else {
        work_contended(s);
      }
    }
  }
}

}  // namespace holdfast::bench
