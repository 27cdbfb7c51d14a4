#include "crew.hpp"

#include "children.hpp"
#include "crew_block.hpp"
#include "shared_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <thread>

namespace holdfast::bench {

namespace {

using seconds = std::chrono::duration<double>;

void make_barriers(crew_control& control, unsigned workers) {
  pthread_barrierattr_t shared;
  ::pthread_barrierattr_init(&shared);
  ::pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  ::pthread_barrier_init(&control.gathered, &shared, workers);
  ::pthread_barrier_init(&control.released, &shared, workers);
  ::pthread_barrierattr_destroy(&shared);
}

/// One process of the crew.
void be_process(const crew_plan& plan, const assignment& what, const open_subject& open_ours,
                const open_subject& open_floor, crew_control& control, shared_array<tally>& tallies, unsigned process) {
  const unsigned first = process * plan.threads;
  const auto ours = open_ours();
  const auto floor = open_floor && measures_floor(plan, first) ? open_floor() : nullptr;
  std::vector<std::thread> threads;
  for (unsigned number = first; number < first + plan.threads; ++number) {
    subject* const measured = measures_floor(plan, number) ? floor.get() : nullptr;
    threads.emplace_back([&, number, measured] {
      try {
        work({plan, what, control, &tallies[number * sides], number, measured, *ours});
      } catch (...) {
        // The others stand at a barrier that will not open: the parent ends them.
        note_exception(control.note);
        ::_exit(exit_failed);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

slice_rate rate_of(const crew_control& control, const shared_array<tally>& tallies, std::size_t which,
                   std::size_t slice) {
  slice_rate sum;
  std::int64_t end = 0;
  for (std::size_t i = which; i < tallies.size(); i += sides) {
    sum.pairs += static_cast<double>(tallies[i].slice_pairs[slice]);
    sum.handovers += static_cast<double>(tallies[i].slice_handovers[slice]);
    end = std::max(end, tallies[i].slice_end[slice]);
  }
  // Until the last worker was done, not until the deadline: a lock that stands still at the end has to show.
  const double length = seconds(std::chrono::nanoseconds(end - control.slice_began[which][slice])).count();
  if (length <= 0) return {};
  return {sum.pairs / length, sum.handovers / length};
}

double share_of(const shared_array<tally>& tallies, std::size_t which, unsigned slices) {
  std::uint64_t least = UINT64_MAX;
  std::uint64_t most = 0;
  for (std::size_t i = which; i < tallies.size(); i += sides) {
    std::uint64_t pairs = 0;
    for (unsigned slice = 1; slice <= slices; ++slice) pairs += tallies[i].slice_pairs[slice];
    least = std::min(least, pairs);
    most = std::max(most, pairs);
  }
  return most == 0 ? 0 : static_cast<double>(least) / static_cast<double>(most);
}

side_result gather(const crew_plan& plan, const crew_control& control, const shared_array<tally>& tallies,
                   std::size_t which) {
  side_result result;
  for (std::size_t i = which; i < tallies.size(); i += sides) {
    result.pairs += tallies[i].pairs;
    result.waits.merge(tallies[i].waits);
  }
  for (unsigned slice = 1; slice <= plan.slices; ++slice)
    result.slices.push_back(rate_of(control, tallies, which, slice));
  result.share = share_of(tallies, which, plan.slices);
  const bool guarded =
      plan.how == crew_plan::manner::contended && (which == side_ours || plan.floor_by == floor_design::crew::same);
  result.counted = guarded ? control.guards[which].value : result.pairs;
  return result;
}

void check(const side_result& result, const char* who) {
  if (result.counted == result.pairs) return;
  throw measurement_error(exit_failed, "LOST UPDATE (" + std::string(who) + "): " + std::to_string(result.pairs) +
                                           " increments under the lock, but the counter says " +
                                           std::to_string(result.counted) + ". The lock does not exclude.");
}

}  // namespace

crew_result run_crew(const crew_plan& plan, const assignment& what, const open_subject& ours, const open_subject& floor,
                     const progress_callback& progress) {
  shared_array<crew_control> control(1);
  shared_array<tally> tallies(std::size_t{plan.workers()} * sides);
  make_barriers(control[0], plan.workers());

  const auto planned = plan.slice * plan.slices * (floor ? 2 : 1);
  const auto start = std::chrono::steady_clock::now();
  children crew;
  for (unsigned process = 0; process < plan.processes; ++process)
    crew.start(control->note, [&] { be_process(plan, what, ours, floor, control[0], tallies, process); });
  crew.wait(control->note, planned + plan.grace,
            [&] { progress(std::min(1.0, seconds(std::chrono::steady_clock::now() - start) / seconds(planned))); });

  crew_result result{gather(plan, control[0], tallies, side_ours), std::nullopt};
  check(result.ours, "ours");
  if (floor) {
    result.floor = gather(plan, control[0], tallies, side_floor);
    check(*result.floor, "floor");
  }
  return result;
}

}  // namespace holdfast::bench
