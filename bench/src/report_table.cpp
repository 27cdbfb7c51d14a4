#include "format.hpp"
#include "goals.hpp"
#include "report.hpp"

#include <cstdio>

namespace holdfast::bench {

namespace {

std::string left(const std::string& text, std::size_t width) {
  return text.size() >= width ? text + ' ' : text + std::string(width - text.size(), ' ');
}

std::string right(const std::string& text, std::size_t width) {
  return text.size() >= width ? ' ' + text : std::string(width - text.size(), ' ') + text;
}

std::string crew_of(const row& r) {
  if (r.processes > 1) return std::to_string(r.processes) + 'p';
  return std::to_string(r.threads) + 't';
}

std::string goals_of(const row& r) {
  std::string text;
  for (const auto& v : judge(r)) {
    text += text.empty() ? "" : ", ";
    text += std::string(to_string(v.wanted.of)) + (v.wanted.is == goal::bound::at_least ? " >= " : " <= ") +
            short_number(v.wanted.limit) + (v.met ? " ok" : " MISSED");
  }
  return text;
}

std::string rate_cells(const row& r) {
  const auto& rate = *r.rate;
  const auto wait = [&](std::chrono::nanoseconds handover_waits::* which) {
    return right(rate.waits ? short_duration((*rate.waits).*which) : "-", 9);
  };
  return right(grouped(rate.pairs_per_second), 12) +
         right(rate.handovers_per_second ? grouped(*rate.handovers_per_second) : "-", 13) + wait(&handover_waits::p50) +
         wait(&handover_waits::p99) + wait(&handover_waits::p999) + wait(&handover_waits::longest) +
         right(rate.share ? short_number(*rate.share) : "-", 7) +
         right(r.floor ? grouped(r.floor->per_second) : "-", 13) + right(r.ratio ? short_number(*r.ratio) : "-", 8);
}

std::string cost_text(const footprint& cost, workload what) {
  const bool holds = what == workload::holds;
  std::string text = "  " + grouped(cost.count) + (holds ? " leases: " : " waits: ") + short_number(cost.resident_mib) +
                     " MiB (" + short_number(cost.baseline_mib) + " before), " + std::to_string(cost.threads) +
                     " threads, ";
  if (cost.cpu_percent)
    text += short_number(*cost.cpu_percent) + " % of a core and " + grouped(static_cast<double>(cost.renewed)) +
            " renewals in " + short_duration(cost.window) + ", ";
  return text + (holds ? "acquired " : "begun ") + grouped(cost.begin_per_second) + "/s, " +
         (holds ? "released " : "granted in turn ") + grouped(cost.end_per_second) + "/s";
}

std::string commands_text(const command_times& times) {
  return "  " + short_duration(times.ours) + " beside " + short_duration(times.floor) +
         " of flock FILE true: " + short_number(times.times_floor) + " times as long (" + std::to_string(times.runs) +
         " runs of each in turns)";
}

}  // namespace

std::string table_head() {
  return left("store", 8) + left("client", 10) + left("workload", 12) + right("crew", 5) + right("pairs/s", 12) +
         right("handovers/s", 13) + right("p50", 9) + right("p99", 9) + right("p99.9", 9) + right("longest", 9) +
         right("share", 7) + right("floor/s", 13) + right("ratio", 8) + "  goals";
}

std::string table_line(const row& r) {
  std::string line = left(r.store, 8) + left(r.peer.empty() ? "holdfast" : r.peer, 10) +
                     left(std::string(to_string(r.what)), 12) + right(crew_of(r), 5);
  if (r.commands) {
    line += commands_text(*r.commands);
  } else if (r.cost) {
    line += cost_text(*r.cost, r.what);
  } else {
    line += rate_cells(r);
  }
  const std::string goals = goals_of(r);
  return goals.empty() ? line : line + "  " + goals;
}

}  // namespace holdfast::bench
