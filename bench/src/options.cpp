#include "options.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace holdfast::bench {

const std::string_view help_text = R"(usage: holdfast bench [--store URL]... [--workload W]... [options]

Measures lock stores side by side with the floor: what the raw client of the same store can do,
taken in turns in the same run. docs/bench.md tells how to read it.

  --store URL      store to measure; may be given several times
                   (default: $HOLDFAST_STORE, else memory:, file: and sqlite: in a temporary directory)
  --workload W     may be given several times (default: all that the store can do)
                     uncontended  1 thread, 1 lock
                     many         N threads, a lock each
                     handover     N threads of one process, one lock
                     processes    N processes, one lock
                     fair         as processes, first come first served
                     reentry      a thread takes again what it holds
                     holds        keep N leases alive: CPU and memory
                     pending      N waits at once on one lock: threads and memory
                     run          `holdfast run NAME -- true` beside `flock FILE true`
  --peer NAME=COMMAND
                   measures another client of the same servers beside ours; may be given several times.
                   sh runs the command; docs/bench.md has the lines it speaks
  --threads N      of many and handover, 1 to 512 (default 16)
  --processes N    of processes and fair, 1 to 256 (default 8)
  --leases N       of holds and pending, 1 to 1000000 (default 10000)
  --seconds S      per row and side, 0.05 to 3600 (default 3; holds takes at least 20 to see renewals)
  --json FILE      write the rows as JSON
  --plot FILE.svg  draw them
  --check          exit 1 and name the goals that were missed
  --progress       a progress line even if stderr is no terminal
  --help           this text

exit codes: 0; 1 a lost update, a failed measurement or a missed goal (--check); 64 usage;
69 store unreachable; 130 interrupted
)";

namespace {

constexpr unsigned max_threads = 512;
constexpr unsigned max_processes = 256;
constexpr unsigned max_leases = 1'000'000;
constexpr std::size_t longest_peer_name = 16;

usage_error bad_value(std::string_view option, std::string_view value, const std::string& right) {
  return {std::string(option) + ": '" + std::string(value) + "' is not " + right};
}

std::optional<usage_error> read_count(std::string_view option, std::string_view text, unsigned most, unsigned& out) {
  unsigned value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || value < 1 || value > most)
    return bad_value(option, text, "a whole number from 1 to " + std::to_string(most));
  out = value;
  return std::nullopt;
}

std::optional<usage_error> read_seconds(std::string_view text, std::chrono::nanoseconds& out) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (failed != std::errc() || end != text.data() + text.size() || !(value >= 0.05 && value <= 3600))
    return bad_value("--seconds", text, "a number of seconds from 0.05 to 3600");
  out = std::chrono::nanoseconds(std::llround(value * 1e9));
  return std::nullopt;
}

std::optional<usage_error> read_workload(std::string_view text, std::vector<workload>& out) {
  if (const auto what = parse_workload(text)) {
    out.push_back(*what);
    return std::nullopt;
  }
  std::string names;
  for (const auto name : workload_names) names += (names.empty() ? "one of " : ", ") + std::string(name);
  return bad_value("--workload", text, names);
}

// The name stands in tables, plots and lock names.
std::optional<usage_error> read_peer(std::string_view text, std::vector<peer>& out) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789+._-";
  const auto equals = text.find('=');
  const auto name = text.substr(0, equals);
  const bool named = !name.empty() && name.size() <= longest_peer_name && name.find_first_not_of(allowed) == name.npos;
  if (!named || equals == text.npos || equals + 1 == text.size())
    return bad_value("--peer", text, "NAME=COMMAND, the name of at most 16 small letters, digits and '+._-'");
  for (const auto& known : out)
    if (known.name == name) return bad_value("--peer", text, "a new one: that name is taken");
  out.push_back({std::string(name), std::string(text.substr(equals + 1))});
  return std::nullopt;
}

std::optional<usage_error> read_file(std::string_view option, std::string_view text, std::string_view ending,
                                     std::string& out) {
  if (text.empty()) return bad_value(option, text, "a file name");
  if (!text.ends_with(ending)) return bad_value(option, text, "a file name that ends in " + std::string(ending));
  out = text;
  return std::nullopt;
}

constexpr std::array<std::string_view, 9> with_value{"--store",  "--workload", "--peer", "--threads", "--processes",
                                                     "--leases", "--seconds",  "--json", "--plot"};

std::optional<usage_error> set_value(options& to, std::string_view option, std::string_view value) {
  if (option == "--workload") return read_workload(value, to.workloads);
  if (option == "--peer") return read_peer(value, to.peers);
  if (option == "--threads") return read_count(option, value, max_threads, to.threads);
  if (option == "--processes") return read_count(option, value, max_processes, to.processes);
  if (option == "--leases") return read_count(option, value, max_leases, to.leases);
  if (option == "--seconds") return read_seconds(value, to.seconds);
  if (option == "--json") return read_file(option, value, "", to.json);
  if (option == "--plot") return read_file(option, value, ".svg", to.plot);
  if (value.empty()) return bad_value(option, value, "a store's URL, such as sqlite:///var/lib/app/locks.db");
  to.stores.emplace_back(value);
  return std::nullopt;
}

bool takes_value(std::string_view option) {
  for (const auto known : with_value)
    if (known == option) return true;
  return false;
}

bool set_flag(parsed_options& parsed, std::string_view option) {
  if (option == "--check")
    parsed.wanted->goals = options::goals::check;
  else if (option == "--progress")
    parsed.wanted->progress = options::progress_line::always;
  else if (option == "--help" || option == "-h")
    parsed.help = true;
  else
    return false;
  return true;
}

parsed_options wrong(usage_error why) { return {std::nullopt, std::move(why), false}; }

}  // namespace

parsed_options parse_options(int argc, const char* const* argv) {
  parsed_options parsed{options{}, std::nullopt, false};
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto equals = word.starts_with("--") ? word.find('=') : word.npos;
    const auto option = word.substr(0, equals);
    if (takes_value(option)) {
      if (equals == word.npos && ++i >= argc) return wrong({std::string(option) + " needs a value"});
      const std::string_view value = equals == word.npos ? argv[i] : word.substr(equals + 1);
      if (auto bad = set_value(*parsed.wanted, option, value)) return wrong(std::move(*bad));
    } else if (equals != word.npos || !set_flag(parsed, option)) {
      return wrong({word.starts_with('-') ? "unknown option '" + std::string(word) + "'"
                                          : "unexpected argument '" + std::string(word) + "'"});
    }
    if (parsed.help) return {std::nullopt, std::nullopt, true};
  }
  return parsed;
}

}  // namespace holdfast::bench
