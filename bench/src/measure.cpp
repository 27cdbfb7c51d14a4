#include "measure.hpp"

#include "children.hpp"
#include "command_timing.hpp"
#include "floor_reentry.hpp"
#include "footprint.hpp"
#include "median.hpp"
#include "ours.hpp"
#include "peer_crew.hpp"
#include "scratch_directory.hpp"
#include "shared_memory.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/uri.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace holdfast::bench {

namespace {

// Renewals come every 10 s: two rounds of them are in here.
constexpr std::chrono::seconds least_holds_window{20};
constexpr unsigned slices = 5;
// Just-in-time compilers want a moment before they show what they can do.
constexpr std::chrono::seconds least_peer_warm_up{6};

struct exploration {
  failure_note note;
  int fifo = 0;
};

bool is_contended(workload what) {
  return what == workload::handover || what == workload::processes || what == workload::fair;
}

crew_plan plan_for(workload what, const options& how, const std::optional<floor_design>& design) {
  crew_plan plan;
  if (what == workload::many || what == workload::handover) plan.threads = how.threads;
  if (what == workload::processes || what == workload::fair) plan.processes = how.processes;
  if (is_contended(what)) plan.how = crew_plan::manner::contended;
  if (design) plan.floor_by = design->by;
  plan.slices = slices;
  plan.slice = how.seconds / slices;
  return plan;
}

speed speed_of(const side_result& side, const crew_plan& plan) {
  std::vector<double> pairs;
  std::vector<double> handovers;
  for (const auto& slice : side.slices) {
    pairs.push_back(slice.pairs);
    handovers.push_back(slice.handovers);
  }
  speed rate;
  rate.pairs_per_second = median(pairs);
  if (plan.workers() > 1) rate.share = side.share;
  if (plan.how == crew_plan::manner::alone) return rate;
  rate.handovers_per_second = median(handovers);
  rate.waits = handover_waits{side.waits.quantile(0.5), side.waits.quantile(0.99), side.waits.quantile(0.999),
                              side.waits.longest()};
  rate.counted = side.counted;
  return rate;
}

/// Each slice of ours beside the floor's slice just before it.
void compare(row& r, const crew_result& result, const crew_plan& plan, const std::string& what) {
  const bool ours_counts_handovers = plan.how == crew_plan::manner::contended;
  const bool floor_counts_handovers = ours_counts_handovers && plan.floor_by == floor_design::crew::same;
  std::vector<double> floor;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < result.floor->slices.size(); ++i) {
    const auto& theirs = result.floor->slices[i];
    const auto& ours = result.ours.slices[i];
    floor.push_back(floor_counts_handovers ? theirs.handovers : theirs.pairs);
    if (floor.back() > 0) ratios.push_back((ours_counts_handovers ? ours.handovers : ours.pairs) / floor.back());
  }
  r.floor = floor_rate{what, median(floor)};
  if (!ratios.empty()) r.ratio = median(ratios);
}

std::optional<floor_design> design_for(const site& where, workload what) {
  if (what == workload::reentry) return floor_design{floor_design::crew::same, "std::recursive_mutex"};
  return where.floor == nullptr ? std::nullopt : where.floor->design_for(where.url, what);
}

void measure_crew(row& r, const site& where, const std::string& name, const options& how,
                  const progress_callback& progress) {
  const auto design = design_for(where, r.what);
  const crew_plan plan = plan_for(r.what, how, design);
  r.processes = plan.processes;
  r.threads = plan.threads;

  const scratch_directory scratch(where.directory);
  open_subject floor;
  if (r.what == workload::reentry) {
    floor = open_reentry_floor;
  } else if (design) {
    floor = [&] { return where.floor->open(where.url, scratch.path()); };
  }
  const auto result = run_crew(plan, {r.what, name}, [&] { return open_ours(where.url); }, floor, progress);
  r.rate = speed_of(result.ours, plan);
  if (result.floor) compare(r, result, plan, design->what);
}

void measure_run(row& r, const site& where, const std::string& name, const options& how,
                 const progress_callback& progress) {
  const scratch_directory scratch(where.directory);
  // Not --store: the URL may hold a password, and command lines are everybody's to read.
  ::setenv("HOLDFAST_STORE", where.url.c_str(), 1);
  const auto times = time_commands({own_path(), "run", name, "--", "true"}, {"flock", scratch.path() + "/lock", "true"},
                                   how.seconds, progress);
  ::unsetenv("HOLDFAST_STORE");
  r.commands = times;
  r.rate.emplace().pairs_per_second = 1e9 / static_cast<double>(times.ours.count());
  r.floor = floor_rate{"flock FILE true", 1e9 / static_cast<double>(times.floor.count())};
  r.ratio = 1 / times.times_floor;
}

// Beside the store's own file, so that both are on one file system.
std::string floor_parent(const uri& where) {
  if (where.scheme != "sqlite" && where.scheme != "file") return temporary_parent();
  std::string path = where.path;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const auto slash = path.rfind('/');
  return slash == 0 || slash == path.npos ? "/" : path.substr(0, slash);
}

// What a peer is told of a server stands on its command line: no place for passwords.
std::string servers_of(const uri& where) {
  std::string list;
  if (!where.user.empty() || !where.password.empty()) return list;
  for (const auto& host : where.hosts) {
    const bool colons = host.host.find(':') != host.host.npos;
    list += (list.empty() ? "" : ",") + (colons ? '[' + host.host + ']' : host.host);
    if (host.port) list += ':' + std::to_string(*host.port);
  }
  return list;
}

std::string lock_name(workload what) {
  return "holdfast-bench/" + std::to_string(::getpid()) + '/' + std::string(to_string(what));
}

std::chrono::nanoseconds peer_warm_up(const options& how) {
  return std::max<std::chrono::nanoseconds>(how.seconds, least_peer_warm_up);
}

bool has_fifo(const std::string& url) {
  shared_array<exploration> found(1);
  children child;
  child.start(found->note, [&] {
    const client c = connect(url, {.name = "holdfast-bench"});
    try {
      mutex fair(c, "holdfast-bench", {.order = ordering::fifo});
      found->fifo = 1;
    } catch (const error& e) {
      if (e.code() != errc::unsupported) throw;
    }
  });
  child.wait(found->note, std::chrono::seconds(30), [] {});
  return found->fifo == 1;
}

}  // namespace

site explore(const std::string& url) {
  auto parsed = uri::parse(url);
  if (!parsed) throw measurement_error(exit_usage, "--store: " + parsed.error().detail);
  site where{url,     parsed->redacted(), parsed->scheme, floor_parent(*parsed), site::queue::none,
             nullptr, servers_of(*parsed)};
  if (has_fifo(url)) where.order = site::queue::fifo;
  std::string why;
  where.floor = find_floor(where.scheme, why);
  if (where.floor == nullptr)
    std::fprintf(stderr, "holdfast bench: no floor for %s: %s\n", where.scheme.c_str(), why.c_str());
  return where;
}

std::optional<std::string> unsuitable(const site& where, workload what) {
  const bool between_processes = what == workload::processes || what == workload::fair || what == workload::run;
  if (where.scheme == "memory" && between_processes) return "memory: lives in one process";
  if (what == workload::fair && where.order == site::queue::none) return where.scheme + ": has no fair queue";
  return std::nullopt;
}

std::optional<std::string> unsuitable_for_peers(const site& where, workload what) {
  const bool is_shared = is_contended(what) || what == workload::uncontended || what == workload::many;
  if (!is_shared) return "peers have no such workload";
  if (where.servers.empty()) return where.scheme + ": has no servers that peers could be told";
  return unsuitable(where, what);
}

row measure(const site& where, workload what, const options& how, const progress_callback& progress) {
  row r;
  r.store = where.scheme;
  r.url = where.shown;
  r.what = what;
  const std::string name = lock_name(what);
  switch (what) {
    case workload::holds:
      r.cost = measure_holds(where.url, name, how.leases,
                             std::max<std::chrono::nanoseconds>(how.seconds, least_holds_window), progress);
      break;
    case workload::pending:
      r.cost = measure_pending(where.url, name, how.leases, progress);
      break;
    case workload::run:
      measure_run(r, where, name, how, progress);
      break;
    default:
      measure_crew(r, where, name, how, progress);
  }
  return r;
}

std::optional<row> measure_peer(const site& where, workload what, const options& how, const peer& who, const row* ours,
                                std::string& why, const progress_callback& progress) {
  const crew_plan crew = plan_for(what, how, std::nullopt);
  peer_plan plan{where.scheme,      where.servers, {what, lock_name(what) + '/' + who.name},
                 crew.processes,    crew.threads,  crew.how,
                 peer_warm_up(how), how.seconds};
  auto result = run_peer(who, plan, progress);
  if (!result.rate) {
    why = result.unsupported;
    return std::nullopt;
  }
  row r;
  r.store = where.scheme;
  r.peer = who.name;
  r.url = where.shown;
  r.what = what;
  r.processes = crew.processes;
  r.threads = crew.threads;
  r.rate = result.rate;
  if (ours == nullptr || !ours->floor) return r;
  r.floor = ours->floor;
  if (r.floor->per_second > 0)
    r.ratio = r.rate->handovers_per_second.value_or(r.rate->pairs_per_second) / r.floor->per_second;
  return r;
}

std::chrono::nanoseconds expected_length(workload what, const options& how) {
  constexpr std::chrono::seconds start_and_end{1};
  switch (what) {
    case workload::holds:
      return std::max<std::chrono::nanoseconds>(how.seconds, least_holds_window) + 5 * start_and_end;
    case workload::pending:
      return 5 * start_and_end;
    default:
      return 2 * how.seconds + start_and_end;
  }
}

// Most of it is the start of as many interpreters or virtual machines as there are processes.
std::chrono::nanoseconds expected_peer_length(const options& how) {
  return how.seconds + peer_warm_up(how) + std::chrono::seconds(4);
}

}  // namespace holdfast::bench
