#include "bench.hpp"

#include "children.hpp"
#include "goals.hpp"
#include "measure.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "scratch_directory.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace holdfast::bench {

namespace {

/// One row to come.
struct task {
  const site* where;
  workload what;
  const peer* who = nullptr;  ///< nullptr: ours.

  std::string label() const {
    return where->scheme + ' ' + std::string(to_string(what)) + (who == nullptr ? "" : ", " + who->name);
  }
};

/// The stores to measure, and the directory they live in where they were not named.
struct stores {
  std::vector<std::string> urls;
  std::unique_ptr<scratch_directory> own;
};

stores choose_stores(const options& wanted) {
  if (!wanted.stores.empty()) return {wanted.stores, nullptr};
  const char* const set = std::getenv("HOLDFAST_STORE");
  if (set != nullptr && *set != '\0') return {{set}, nullptr};
  auto own = std::make_unique<scratch_directory>(temporary_parent());
  return {{"memory:", "file://" + own->path() + "/locks", "sqlite://" + own->path() + "/locks.db"}, std::move(own)};
}

std::vector<workload> choose_workloads(const options& wanted) {
  if (!wanted.workloads.empty()) return wanted.workloads;
  std::vector<workload> all;
  for (std::size_t i = 0; i < workload_names.size(); ++i) all.push_back(static_cast<workload>(i));
  return all;
}

// Workload by workload: stores are compared with each other as well.
std::vector<task> plan(const std::vector<site>& sites, const options& wanted) {
  std::vector<task> tasks;
  std::string refused;
  for (const workload what : choose_workloads(wanted)) {
    for (const auto& where : sites) {
      if (const auto why = unsuitable(where, what)) {
        if (wanted.workloads.empty()) continue;
        refused = "--workload " + std::string(to_string(what)) + ": " + *why;
        std::fprintf(stderr, "holdfast bench: %s, left out\n", refused.c_str());
      } else {
        tasks.push_back({&where, what});
        if (!unsuitable_for_peers(where, what))
          for (const auto& who : wanted.peers) tasks.push_back({&where, what, &who});
      }
    }
  }
  if (tasks.empty()) throw measurement_error(exit_usage, "nothing to measure: " + refused);
  return tasks;
}

/// "42 rows, about 6 minutes"
std::string describe(const std::vector<task>& tasks, const options& wanted) {
  std::chrono::nanoseconds length{};
  for (const auto& next : tasks)
    length += next.who == nullptr ? expected_length(next.what, wanted) : expected_peer_length(wanted);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(length).count();
  const std::string rows = std::to_string(tasks.size()) + (tasks.size() == 1 ? " row, about " : " rows, about ");
  return rows +
         (seconds < 100 ? std::to_string(seconds) + " seconds" : std::to_string((seconds + 30) / 60) + " minutes");
}

void write_file(const std::string& path, const std::string& text) {
  std::FILE* const file = std::fopen(path.c_str(), "we");
  bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) written = std::fclose(file) == 0 && written;
  if (!written) throw measurement_error(exit_failed, "cannot write '" + path + "': " + std::strerror(errno));
  std::printf("written: %s\n", path.c_str());
}

// Before minutes of measuring, not after. What was not there before is not there now either.
void expect_writable(const std::string& path) {
  if (path.empty()) return;
  const bool existed = ::access(path.c_str(), F_OK) == 0;
  std::FILE* const file = std::fopen(path.c_str(), "ae");
  if (file == nullptr) throw measurement_error(exit_usage, "cannot write '" + path + "': " + std::strerror(errno));
  std::fclose(file);
  if (!existed) ::unlink(path.c_str());
}

/// A row that came to nothing does not keep the others from being measured, but it is told at once, and by the exit
/// code.
void note_failure(report& found, const task& failed, const measurement_error& why) {
  if (why.exit_code() == exit_interrupted) throw why;
  std::fprintf(stderr, "holdfast bench: %s: %s\n", failed.label().c_str(), why.what());
  found.failures.push_back(
      {failed.where->scheme, failed.what, why.what(), why.exit_code(), failed.who == nullptr ? "" : failed.who->name});
}

/// Our row beside which a peer's stands.
const row* find_ours(const report& found, const std::string& url, workload what) {
  for (const auto& r : found.rows)
    if (r.peer.empty() && r.url == url && r.what == what) return &r;
  return nullptr;
}

/// nullopt: a peer that cannot do that; it is told which.
std::optional<row> measure_one(const report& found, const task& next, progress& line) {
  const auto update = [&](double done) { line.update(done); };
  if (next.who == nullptr) return measure(*next.where, next.what, found.how, update);
  std::string why;
  const row* const ours = find_ours(found, next.where->shown, next.what);
  auto r = measure_peer(*next.where, next.what, found.how, *next.who, ours, why, update);
  line.clear();
  if (!r) std::fprintf(stderr, "holdfast bench: %s: left out: %s\n", next.label().c_str(), why.c_str());
  return r;
}

void measure_all(report& found, const std::vector<task>& tasks) {
  progress line(found.how.progress);
  std::printf("%s\n", table_head().c_str());
  std::fflush(stdout);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto& next = tasks[i];
    line.begin(i + 1, tasks.size(), next.label());
    try {
      auto r = measure_one(found, next, line);
      line.clear();
      if (!r) continue;
      std::printf("%s\n", table_line(*r).c_str());
      std::fflush(stdout);
      found.rows.push_back(std::move(*r));
    } catch (const measurement_error& e) {
      line.clear();
      note_failure(found, next, e);
    }
  }
}

int check_goals(const report& found) {
  int missed = 0;
  int judged = 0;
  for (const auto& r : found.rows) {
    for (const auto& v : judge(r)) {
      ++judged;
      if (v.met) continue;
      ++missed;
      std::fprintf(stderr, "goal missed: %s\n", describe(r, v).c_str());
    }
    // Beside every peer ours should be first.
    const row* const ours = r.peer.empty() ? nullptr : find_ours(found, r.url, r.what);
    if (ours == nullptr) continue;
    ++judged;
    const auto why = overtaken(*ours, r);
    if (!why) continue;
    ++missed;
    std::fprintf(stderr, "goal missed: %s\n", why->c_str());
  }
  std::printf("goals: %d of %d met\n", judged - missed, judged);
  return missed == 0 ? 0 : exit_failed;
}

int run(const options& wanted) {
  const interruption noted;
  expect_writable(wanted.json);
  expect_writable(wanted.plot);
  const stores chosen = choose_stores(wanted);
  std::vector<site> sites;
  for (const auto& url : chosen.urls) sites.push_back(explore(url));
  const auto tasks = plan(sites, wanted);

  report found{this_machine(), utc_now(), wanted, {}, {}};
  std::printf("%s\n%s\n", describe(found.where).c_str(), describe(tasks, wanted).c_str());
  if (const auto busy = warning(found.where); !busy.empty()) std::fprintf(stderr, "holdfast bench: %s\n", busy.c_str());
  measure_all(found, tasks);
  if (!wanted.json.empty()) write_file(wanted.json, to_json(found));
  if (!wanted.plot.empty()) write_file(wanted.plot, to_svg(found));
  const int goals = wanted.goals == options::goals::check ? check_goals(found) : 0;
  return found.failures.empty() ? goals : found.failures.front().exit_code;
}

}  // namespace

int bench_main(int argc, char** argv) {
  const auto parsed = parse_options(argc, argv);
  if (parsed.help) {
    std::fwrite(help_text.data(), 1, help_text.size(), stdout);
    return 0;
  }
  if (parsed.wrong) {
    std::fprintf(stderr, "holdfast bench: %s\nTry 'holdfast bench --help'.\n", parsed.wrong->text.c_str());
    return exit_usage;
  }
  try {
    return run(*parsed.wanted);
  } catch (const measurement_error& e) {
    std::fprintf(stderr, "holdfast bench: %s\n", e.what());
    return e.exit_code();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "holdfast bench: %s\n", e.what());
    return exit_failed;
  }
}

}  // namespace holdfast::bench
