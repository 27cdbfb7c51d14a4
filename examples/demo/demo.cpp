// The main job of a distributed lock, on the embedded store: processes count in a file that nothing else protects, one
// of them is killed while it holds the lock, and the count must come out right all the same.
#include "journal.hpp"
#include "worker.hpp"

#include <holdfast/lease_clock.hpp>

#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace demo {

namespace {

constexpr int workers = 5;
constexpr int rounds = 400;
constexpr int rounds_of_the_victim = 20;
/// A dead process is noticed at once. Anything near the ttl (30 s) would mean that it was not.
constexpr std::chrono::seconds longest_takeover{5};

/// A private directory that goes when this goes.
class temporary_directory {
 public:
  temporary_directory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "holdfast-demo-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::system_error(errno, std::generic_category(), "mkdtemp");
    path_ = pattern;
  }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Waits for them all; how many ended with an error.
int failures(const std::vector<pid_t>& processes) {
  int failed = 0;
  for (const pid_t process : processes) {
    int status = 0;
    ::waitpid(process, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) ++failed;
  }
  return failed;
}

void reset_counter(const workshop& shop) { std::ofstream(shop.counter()) << 0; }

long updates_lost_without_lock(const workshop& shop) {
  reset_counter(shop);
  std::vector<pid_t> processes;
  for (int i = 0; i < workers; ++i) {
    processes.push_back(start([&shop] {
      for (int round = 0; round < rounds; ++round) increment(shop);
    }));
  }
  failures(processes);
  return workers * rounds - count(shop);
}

struct outcome {
  int failed = 0;
  pid_t victim = 0;
  std::chrono::nanoseconds killed_at{0};
};

outcome count_with_lock_and_kill(const workshop& shop) {
  reset_counter(shop);
  int ready[2];
  if (::pipe(ready) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  outcome result;
  result.victim = start([&] { count_and_hang(shop, rounds_of_the_victim, ready[1]); });
  ::close(ready[1]);
  std::vector<pid_t> processes;
  for (int i = 0; i < workers; ++i) processes.push_back(start([&] { count_under_lock(shop, rounds); }));

  char holds = 0;
  if (::read(ready[0], &holds, 1) != 1) result.failed += 1;  // It ended before it held the lock.
  ::close(ready[0]);
  result.killed_at = holdfast::lease_clock::now().time_since_epoch();
  ::kill(result.victim, SIGKILL);
  ::waitpid(result.victim, nullptr, 0);
  result.failed += failures(processes);
  return result;
}

/// From the kill to the first grant after the victim's last one; nothing if nobody came after it.
std::optional<std::chrono::nanoseconds> takeover(const std::vector<grant>& grants, const outcome& run) {
  const auto last = std::find_if(grants.rbegin(), grants.rend(), [&](const grant& g) { return g.pid == run.victim; });
  if (last == grants.rend() || last == grants.rbegin()) return std::nullopt;
  return std::prev(last)->when - run.killed_at;
}

bool strictly_increasing(const std::vector<grant>& grants) {
  return std::adjacent_find(grants.begin(), grants.end(),
                            [](const grant& a, const grant& b) { return a.token >= b.token; }) == grants.end();
}

bool report(const char* what, const std::string& text, bool holds) {
  std::printf("  %-18s %-46s %s\n", what, text.c_str(), holds ? "ok" : "WRONG");
  return holds;
}

bool report_takeover(const std::optional<std::chrono::nanoseconds>& after) {
  if (!after) return report("taken over", "by nobody", false);
  char text[64];
  std::snprintf(text, sizeof text, "%.1f ms after the kill", std::chrono::duration<double, std::milli>(*after).count());
  return report("taken over", text, *after < longest_takeover);
}

int run() {
  const temporary_directory directory;
  const workshop shop{directory.path()};
  std::printf("%d processes increment a number in a file; nothing but the lock protects it.\n", workers + 1);
  std::fflush(stdout);
  std::printf("  %-18s %ld of %d updates lost\n", "without the lock", updates_lost_without_lock(shop),
              workers * rounds);
  std::fflush(stdout);

  const outcome run = count_with_lock_and_kill(shop);
  const auto grants = journal(shop.journal()).read();
  const long expected = workers * rounds + rounds_of_the_victim;
  const long total = count(shop);
  std::printf("  %-18s process %d was killed with SIGKILL while it held it\n", "with the lock", run.victim);
  bool good = report("total", std::to_string(total) + ", expected " + std::to_string(expected), total == expected);
  good &= report("tokens", std::to_string(grants.size()) + " grants, strictly increasing",
                 std::ssize(grants) == expected + 1 && strictly_increasing(grants));
  good &= report_takeover(takeover(grants, run));
  if (run.failed > 0) good &= report("processes", std::to_string(run.failed) + " ended with an error", false);
  return good ? 0 : 1;
}

}  // namespace

}  // namespace demo

int main() {
  try {
    return demo::run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
