#include "children.hpp"
#include "footprint.hpp"
#include "process_status.hpp"
#include "shared_memory.hpp"

#include <holdfast/holdfast.hpp>

#include <algorithm>
#include <thread>

namespace holdfast::bench {

namespace {

using clock = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

double per_second(unsigned count, clock::time_point begin) { return count / seconds(clock::now() - begin).count(); }

/// What the child fills in and the parent shows meanwhile.
struct holds_block {
  failure_note note;
  footprint found;
  volatile double done = 0;  ///< 0 to 1: acquiring is the first tenth, releasing the last.
};
static_assert(std::is_trivially_destructible_v<holds_block>);

void acquire_all(const client& c, const std::string& prefix, std::vector<lease>& leases, unsigned count,
                 holds_block& block) {
  leases.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    mutex m(c, prefix + '/' + std::to_string(i));
    leases.push_back(m.acquire());
    block.done = 0.1 * i / count;
  }
}

// Looks every quarter of a second: the peak between two renewals counts, not only the end.
void watch_window(footprint& found, const client& c, std::chrono::nanoseconds window, holds_block& block) {
  const auto renewed = c.stats().renewed;
  const auto cpu = cpu_time();
  const auto begin = clock::now();
  found.resident_mib = resident_mib();
  for (auto now = begin; now < begin + window; now = clock::now()) {
    std::this_thread::sleep_for(
        std::min<std::chrono::nanoseconds>(std::chrono::milliseconds(250), begin + window - now));
    found.resident_mib = std::max(found.resident_mib, resident_mib());
    found.threads = std::max(found.threads, thread_count());
    block.done = 0.1 + 0.8 * (seconds(clock::now() - begin) / seconds(window));
  }
  found.window = clock::now() - begin;
  found.cpu_percent = 100 * (seconds(cpu_time() - cpu) / seconds(found.window));
  found.renewed = c.stats().renewed - renewed;
}

void hold(const std::string& url, const std::string& prefix, unsigned count, std::chrono::nanoseconds window,
          holds_block& block) {
  raise_file_limit();
  const client c = connect(url, {.ttl = std::chrono::seconds(30), .name = "holdfast-bench"});
  auto& found = block.found;
  found.count = count;
  found.baseline_mib = resident_mib();

  std::vector<lease> leases;
  auto begin = clock::now();
  acquire_all(c, prefix, leases, count, block);
  found.begin_per_second = per_second(count, begin);
  watch_window(found, c, window, block);

  const auto lost = std::count_if(leases.begin(), leases.end(), [](const lease& l) { return !l.valid(); });
  if (lost != 0)
    throw measurement_error(exit_failed, std::to_string(lost) + " of " + std::to_string(count) + " leases were lost");
  begin = clock::now();
  for (auto& l : leases) l.release().value();
  found.end_per_second = per_second(count, begin);
}

}  // namespace

footprint measure_holds(const std::string& url, const std::string& prefix, unsigned count,
                        std::chrono::nanoseconds window, const progress_callback& progress) {
  shared_array<holds_block> block(1);
  children child;
  child.start(block->note, [&] { hold(url, prefix, count, window, block[0]); });
  child.wait(block->note, window + std::chrono::minutes(5), [&] { progress(block->done); });
  return block->found;
}

}  // namespace holdfast::bench
