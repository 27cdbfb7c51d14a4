#include "peer_crew.hpp"

#include "children.hpp"
#include "peer_process.hpp"
#include "scratch_directory.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>

namespace holdfast::bench {

namespace {

using clock = std::chrono::steady_clock;
using peer_processes = std::vector<std::unique_ptr<peer_process>>;

/// What the peer's lock protects, and who held it last: plain memory that all workers map.
class guard_file {
 public:
  explicit guard_file(std::string path) : path_(std::move(path)) {
    constexpr std::uint64_t nothing[2] = {0, 0};  // the counter; the last owner's number + 1
    std::FILE* const file = std::fopen(path_.c_str(), "we");
    const bool written = file != nullptr && std::fwrite(nothing, sizeof nothing, 1, file) == 1;
    if (file == nullptr || std::fclose(file) != 0 || !written) fail();
  }
  const std::string& path() const { return path_; }
  std::uint64_t counted() const {
    std::uint64_t value = 0;
    std::FILE* const file = std::fopen(path_.c_str(), "re");
    const bool read = file != nullptr && std::fread(&value, sizeof value, 1, file) == 1;
    if (file != nullptr) std::fclose(file);
    if (!read) fail();
    return value;
  }

 private:
  [[noreturn]] void fail() const {
    throw measurement_error(exit_failed, "cannot use '" + path_ + "': " + std::strerror(errno));
  }
  const std::string path_;
};

/// What all workers did in one go.
struct peer_tally {
  std::vector<std::uint64_t> pairs;   ///< Of each worker.
  std::chrono::nanoseconds length{};  ///< Until the last worker was done.
  wait_histogram waits;               ///< One for each handover.

  std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const auto n : pairs) sum += n;
    return sum;
  }
};

// "PAIRS NANOSECONDS [WAIT...]"
bool read_tally(const std::string& line, peer_tally& into) {
  std::vector<std::uint64_t> numbers;
  const char* at = line.data();
  const char* const end = at + line.size();
  while (at != end) {
    std::uint64_t number = 0;
    const auto [after, failed] = std::from_chars(at, end, number);
    if (failed != std::errc() || (after != end && *after != ' ')) return false;
    numbers.push_back(number);
    at = after == end ? end : after + 1;
  }
  if (numbers.size() < 2) return false;
  into.pairs.push_back(numbers[0]);
  into.length = std::max(into.length, std::chrono::nanoseconds(numbers[1]));
  for (std::size_t i = 2; i < numbers.size(); ++i) into.waits.record(std::chrono::nanoseconds(numbers[i]));
  return true;
}

[[noreturn]] void not_understood(const std::string& line, const std::string& right) {
  throw measurement_error(exit_failed, "said '" + line.substr(0, 200) + "' instead of " + right);
}

peer_processes start(const peer& who, const peer_plan& plan, const guard_file& guard) {
  peer_processes crew;
  for (unsigned i = 0; i < plan.processes; ++i) {
    const std::vector<std::string> arguments{plan.store,
                                             plan.servers,
                                             std::string(to_string(plan.what.what)),
                                             plan.what.lock,
                                             std::to_string(plan.threads),
                                             std::to_string(i * plan.threads),
                                             guard.path()};
    crew.push_back(std::make_unique<peer_process>(who.command, arguments));
  }
  return crew;
}

/// Empty when all are ready; else what the peer says it cannot do.
std::string greet(const peer_processes& crew, const peer_plan& plan) {
  constexpr std::string_view refusal = "unsupported ";
  const auto deadline = clock::now() + plan.patience;
  for (const auto& process : crew) {
    const std::string line = process->hear(deadline);
    if (line.starts_with(refusal)) return line.substr(refusal.size());
    if (line != "ready") not_understood(line, "'ready' or 'unsupported WHY'");
  }
  return {};
}

peer_tally measure_for(const peer_processes& crew, const peer_plan& plan, std::chrono::nanoseconds length) {
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(length);
  const auto deadline = clock::now() + length + plan.patience;
  for (const auto& process : crew) process->tell("measure " + std::to_string(milliseconds.count()));
  peer_tally sum;
  for (const auto& process : crew) {
    for (unsigned i = 0; i < plan.threads; ++i) {
      const std::string line = process->hear(deadline);
      if (!read_tally(line, sum)) not_understood(line, "'PAIRS NANOSECONDS [WAIT...]'");
    }
  }
  return sum;
}

speed speed_of(const peer_tally& tally, const peer_plan& plan) {
  const double length = std::max(1e-9, std::chrono::duration<double>(tally.length).count());
  speed rate;
  rate.pairs_per_second = static_cast<double>(tally.total()) / length;
  const auto [least, most] = std::minmax_element(tally.pairs.begin(), tally.pairs.end());
  if (plan.workers() > 1) rate.share = *most == 0 ? 0 : static_cast<double>(*least) / static_cast<double>(*most);
  if (plan.how == crew_plan::manner::alone) return rate;
  const auto& waits = tally.waits;
  rate.handovers_per_second = static_cast<double>(waits.count()) / length;
  rate.waits = handover_waits{waits.quantile(0.5), waits.quantile(0.99), waits.quantile(0.999), waits.longest()};
  return rate;
}

}  // namespace

peer_result run_peer(const peer& who, const peer_plan& plan, const progress_callback& progress) {
  const scratch_directory scratch(temporary_parent());
  const guard_file guard(scratch.path() + "/guard");
  const auto crew = start(who, plan, guard);
  if (auto why = greet(crew, plan); !why.empty()) return {std::nullopt, std::move(why)};
  const auto warm_up = measure_for(crew, plan, plan.warm_up);
  progress(std::chrono::duration<double>(plan.warm_up) / (plan.warm_up + plan.length));
  const auto measured = measure_for(crew, plan, plan.length);
  for (const auto& process : crew) process->dismiss(plan.patience);

  peer_result result{speed_of(measured, plan), {}};
  if (plan.how == crew_plan::manner::alone) return result;
  result.rate->counted = guard.counted();
  if (const auto pairs = warm_up.total() + measured.total(); result.rate->counted != pairs)
    throw measurement_error(exit_failed, "LOST UPDATE: " + std::to_string(pairs) +
                                             " increments under the lock, but the counter says " +
                                             std::to_string(result.rate->counted) + ". The lock does not exclude.");
  return result;
}

}  // namespace holdfast::bench
