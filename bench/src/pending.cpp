#include "children.hpp"
#include "footprint.hpp"
#include "process_status.hpp"
#include "shared_memory.hpp"

#include <holdfast/holdfast.hpp>

#include <condition_variable>
#include <mutex>

namespace holdfast::bench {

namespace {

using clock = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

struct pending_block {
  failure_note note;
  footprint found;
  volatile unsigned granted = 0;  ///< Plain: the lock under test is what protects it.
};
static_assert(std::is_trivially_destructible_v<pending_block>);

/// Counts those that are done, whatever their outcome.
class finish_line {
 public:
  explicit finish_line(unsigned expected) : left_(expected) {}

  void arrive(const result<lease>& outcome) {
    std::lock_guard lock(mutex_);
    if (!outcome && why_.empty()) why_ = outcome.error().code.message() + " (" + outcome.error().detail + ')';
    if (--left_ == 0) done_.notify_all();
  }
  /// Waits for all; what the first failure said.
  std::string wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return left_ == 0; });
    return why_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  unsigned left_;
  std::string why_;
};

void begin_all(holdfast::mutex& m, unsigned count, finish_line& line, pending_block& block) {
  for (unsigned i = 0; i < count; ++i) {
    m.async_acquire().then([&line, &block](result<lease> outcome) {
      if (outcome) {
        block.granted = block.granted + 1;
        if (auto released = outcome->release(); !released) outcome = released.error();
      }
      line.arrive(outcome);
    });
  }
}

void pend(const std::string& url, const std::string& name, unsigned count, pending_block& block) {
  raise_file_limit();
  const client c = connect(url, {.name = "holdfast-bench"});
  holdfast::mutex m(c, name);
  auto& found = block.found;
  found.count = count;
  lease held = m.acquire();
  found.baseline_mib = resident_mib();

  finish_line line(count);
  auto begin = clock::now();
  begin_all(m, count, line, block);
  found.begin_per_second = count / seconds(clock::now() - begin).count();
  found.resident_mib = resident_mib();
  found.threads = thread_count();

  begin = clock::now();
  held.release().value();
  const std::string why = line.wait();
  found.end_per_second = count / seconds(clock::now() - begin).count();
  if (!why.empty()) throw measurement_error(exit_failed, "a pending wait failed: " + why);
  if (block.granted != count)
    throw measurement_error(
        exit_failed, "LOST UPDATE: " + std::to_string(count) + " holders counted to " + std::to_string(block.granted));
}

}  // namespace

footprint measure_pending(const std::string& url, const std::string& name, unsigned count,
                          const progress_callback& progress) {
  shared_array<pending_block> block(1);
  children child;
  child.start(block->note, [&] { pend(url, name, count, block[0]); });
  child.wait(block->note, std::chrono::minutes(2), [&] { progress(static_cast<double>(block->granted) / count); });
  return block->found;
}

}  // namespace holdfast::bench
