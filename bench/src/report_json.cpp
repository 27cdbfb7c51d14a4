#include "goals.hpp"
#include "report.hpp"

#include <holdfast/version.hpp>

#include <cmath>
#include <cstdio>
#include <string_view>

namespace holdfast::bench {

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[64];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

std::string number(const std::optional<double>& value) { return value ? number(*value) : "null"; }

std::string nanoseconds(std::chrono::nanoseconds time) { return std::to_string(time.count()); }

/// `{"key": value, ...}`; values come as JSON already.
class object {
 public:
  object& add(std::string_view key, const std::string& json) {
    text_ += (text_.empty() ? "" : ", ") + quoted(key) + ": " + json;
    return *this;
  }
  std::string json() const { return '{' + text_ + '}'; }

 private:
  std::string text_;
};

std::string json_of(const std::optional<handover_waits>& waits) {
  if (!waits) return "null";
  return object()
      .add("p50", nanoseconds(waits->p50))
      .add("p99", nanoseconds(waits->p99))
      .add("p99_9", nanoseconds(waits->p999))
      .add("longest", nanoseconds(waits->longest))
      .json();
}

std::string json_of(const std::optional<footprint>& cost) {
  if (!cost) return "null";
  return object()
      .add("count", std::to_string(cost->count))
      .add("resident_mib", number(cost->resident_mib))
      .add("baseline_mib", number(cost->baseline_mib))
      .add("threads", std::to_string(cost->threads))
      .add("begin_per_second", number(cost->begin_per_second))
      .add("end_per_second", number(cost->end_per_second))
      .add("cpu_percent", number(cost->cpu_percent))
      .add("window_ns", nanoseconds(cost->window))
      .add("renewed", std::to_string(cost->renewed))
      .json();
}

std::string json_of(const std::optional<command_times>& times) {
  if (!times) return "null";
  return object()
      .add("ours_ns", nanoseconds(times->ours))
      .add("floor_ns", nanoseconds(times->floor))
      .add("times_floor", number(times->times_floor))
      .add("runs", std::to_string(times->runs))
      .json();
}

std::string json_of(const std::vector<verdict>& verdicts) {
  std::string list;
  for (const auto& v : verdicts)
    list += (list.empty() ? "" : ", ") +
            object()
                .add("metric", quoted(to_string(v.wanted.of)))
                .add("bound", v.wanted.is == goal::bound::at_least ? "\"at_least\"" : "\"at_most\"")
                .add("limit", number(v.wanted.limit))
                .add("value", number(v.value))
                .add("met", v.met ? "true" : "false")
                .json();
  return '[' + list + ']';
}

std::string json_of(const row& r) {
  const auto& rate = r.rate;
  return object()
      .add("store", quoted(r.store))
      .add("peer", r.peer.empty() ? "null" : quoted(r.peer))
      .add("url", quoted(r.url))
      .add("workload", quoted(to_string(r.what)))
      .add("processes", std::to_string(r.processes))
      .add("threads", std::to_string(r.threads))
      .add("pairs_per_second", rate ? number(rate->pairs_per_second) : "null")
      .add("handovers_per_second", rate ? number(rate->handovers_per_second) : "null")
      .add("wait_ns", json_of(rate ? rate->waits : std::nullopt))
      .add("share", rate ? number(rate->share) : "null")
      .add("counted", rate && rate->counted != 0 ? std::to_string(rate->counted) : "null")
      .add("footprint", json_of(r.cost))
      .add("commands", json_of(r.commands))
      .add("floor", r.floor ? quoted(r.floor->what) : "null")
      .add("floor_per_second", r.floor ? number(r.floor->per_second) : "null")
      .add("ratio", number(r.ratio))
      .add("goals", json_of(judge(r)))
      .json();
}

std::string json_of(const failed_row& failed) {
  return object()
      .add("store", quoted(failed.store))
      .add("peer", failed.peer.empty() ? "null" : quoted(failed.peer))
      .add("workload", quoted(to_string(failed.what)))
      .add("why", quoted(failed.why))
      .json();
}

}  // namespace

std::string to_json(const report& r) {
  const auto machine = object()
                           .add("cpu", quoted(r.where.cpu))
                           .add("cores", std::to_string(r.where.cores))
                           .add("kernel", quoted(r.where.kernel))
                           .add("memory_gib", number(r.where.memory_gib))
                           .add("load", number(r.where.load));
  std::string rows;
  for (const auto& line : r.rows) rows += (rows.empty() ? "\n    " : ",\n    ") + json_of(line);
  std::string failures;
  for (const auto& failed : r.failures) failures += (failures.empty() ? "" : ", ") + json_of(failed);
  return "{\n  \"format\": 1,\n  \"version\": " + quoted(HOLDFAST_VERSION_STRING) + ",\n  \"time\": " + quoted(r.when) +
         ",\n  \"seconds\": " + number(std::chrono::duration<double>(r.how.seconds).count()) +
         ",\n  \"machine\": " + machine.json() + ",\n  \"rows\": [" + rows + "\n  ],\n  \"failures\": [" + failures +
         "]\n}\n";
}

}  // namespace holdfast::bench
