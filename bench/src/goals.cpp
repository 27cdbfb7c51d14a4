#include "goals.hpp"

#include "format.hpp"

namespace holdfast::bench {

namespace {

double milliseconds(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1e6; }

}  // namespace

const std::vector<goal>& goals() {
  using enum metric;
  using enum goal::bound;
  static const std::vector<goal> all{
      {"sqlite", workload::uncontended, ratio, at_least, 0.7},
      {"sqlite", workload::handover, ratio, at_least, 5},
      // "No thread starves": far above what a queue of sixteen takes, far below what anybody would call starving.
      {"sqlite", workload::handover, p99_ms, at_most, 10},
      {"sqlite", workload::handover, longest_ms, at_most, 1000},
      {"sqlite", workload::processes, ratio, at_least, 0.5},
      {"sqlite", workload::processes, share, at_least, 0.5},
      {"sqlite", workload::fair, share, at_least, 0.9},
      {"file", workload::processes, ratio, at_least, 1},
      {"redis", workload::uncontended, ratio, at_least, 0.95},
      {"redis", workload::many, ratio, at_least, 1.5},
      {"redis", workload::handover, ratio, at_least, 20},
      {"redis", workload::processes, ratio, at_least, 0.9},
      {"redis", workload::processes, p99_to_p50, at_most, 4},
      {"redis", workload::fair, ratio, at_least, 0.8},
      {"redis", workload::fair, share, at_least, 0.95},
      {"redlock", workload::uncontended, ratio, at_least, 1.5},
      {"redlock", workload::processes, ratio, at_least, 2},
      {"etcd", workload::uncontended, ratio, at_least, 0.9},
      {"etcd", workload::many, ratio, at_least, 3},
      {"etcd", workload::handover, ratio, at_least, 20},
      {"etcd", workload::processes, ratio, at_least, 0.9},
      {"etcd", workload::fair, ratio, at_least, 0.9},
      {"zk", workload::uncontended, ratio, at_least, 0.85},
      {"zk", workload::many, ratio, at_least, 3},
      {"zk", workload::processes, ratio, at_least, 1},
      {"zk", workload::processes, share, at_least, 0.95},
      {"postgresql", workload::uncontended, ratio, at_least, 0.85},
      {"postgresql", workload::many, ratio, at_least, 1},
      {"postgresql", workload::handover, ratio, at_least, 20},
      {"postgresql", workload::processes, ratio, at_least, 0.7},
      {"postgresql", workload::fair, share, at_least, 0.95},
      {"mysql", workload::uncontended, ratio, at_least, 0.85},
      {"mysql", workload::many, ratio, at_least, 1},
      {"mysql", workload::handover, ratio, at_least, 20},
      {"", workload::reentry, ratio, at_least, 0.3},
      {"", workload::holds, resident_mib, at_most, 64},
      {"", workload::holds, cpu_percent, at_most, 2},
      {"", workload::pending, resident_mib, at_most, 64},
      {"", workload::pending, threads, at_most, 7},
      {"sqlite", workload::run, times_floor, at_most, 3},
  };
  return all;
}

std::string_view to_string(metric what) {
  switch (what) {
    case metric::ratio:
      return "ratio";
    case metric::share:
      return "share";
    case metric::p99_ms:
      return "p99 ms";
    case metric::p99_to_p50:
      return "p99/p50";
    case metric::longest_ms:
      return "longest ms";
    case metric::times_floor:
      return "times flock";
    case metric::resident_mib:
      return "MiB";
    case metric::cpu_percent:
      return "% cpu";
    case metric::threads:
      return "threads";
  }
  return "?";
}

std::optional<double> value_of(const row& r, metric what) {
  const handover_waits* const waits = r.rate && r.rate->waits ? &*r.rate->waits : nullptr;
  switch (what) {
    case metric::ratio:
      return r.ratio;
    case metric::share:
      return r.rate ? r.rate->share : std::nullopt;
    case metric::p99_ms:
      return waits != nullptr ? std::optional(milliseconds(waits->p99)) : std::nullopt;
    case metric::p99_to_p50:
      if (waits == nullptr || waits->p50.count() == 0) return std::nullopt;
      return static_cast<double>(waits->p99.count()) / static_cast<double>(waits->p50.count());
    case metric::longest_ms:
      return waits != nullptr ? std::optional(milliseconds(waits->longest)) : std::nullopt;
    case metric::times_floor:
      return r.commands ? std::optional(r.commands->times_floor) : std::nullopt;
    case metric::resident_mib:
      return r.cost ? std::optional(r.cost->resident_mib) : std::nullopt;
    case metric::cpu_percent:
      return r.cost ? r.cost->cpu_percent : std::nullopt;
    case metric::threads:
      return r.cost ? std::optional<double>(r.cost->threads) : std::nullopt;
  }
  return std::nullopt;
}

std::vector<verdict> judge(const row& r) {
  std::vector<verdict> verdicts;
  if (!r.peer.empty()) return verdicts;  // the goals are ours
  for (const auto& wanted : goals()) {
    if (wanted.what != r.what || (!wanted.store.empty() && wanted.store != r.store)) continue;
    // A row without the number has not reached it.
    const auto value = value_of(r, wanted.of);
    const bool met = value && (wanted.is == goal::bound::at_least ? *value >= wanted.limit : *value <= wanted.limit);
    verdicts.push_back({wanted, value.value_or(0), met});
  }
  return verdicts;
}

std::optional<std::string> overtaken(const row& ours, const row& peer) {
  if (!ours.rate || !peer.rate) return std::nullopt;
  const bool handovers = ours.rate->handovers_per_second && peer.rate->handovers_per_second;
  const double mine = handovers ? *ours.rate->handovers_per_second : ours.rate->pairs_per_second;
  const double theirs = handovers ? *peer.rate->handovers_per_second : peer.rate->pairs_per_second;
  if (mine > theirs) return std::nullopt;
  return ours.store + ' ' + std::string(to_string(ours.what)) + ": " + peer.peer + ' ' + grouped(theirs) +
         (handovers ? " handovers/s" : " pairs/s") + ", ours " + grouped(mine);
}

std::string describe(const row& r, const verdict& v) {
  return r.store + ' ' + std::string(to_string(r.what)) + ": " + std::string(to_string(v.wanted.of)) + ' ' +
         short_number(v.value) + ", goal " + (v.wanted.is == goal::bound::at_least ? "at least " : "at most ") +
         short_number(v.wanted.limit);
}

}  // namespace holdfast::bench
