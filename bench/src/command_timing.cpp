#include "command_timing.hpp"

#include "children.hpp"
#include "median.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

extern char** environ;

namespace holdfast::bench {

namespace {

using clock = std::chrono::steady_clock;
constexpr unsigned least_runs = 20;
constexpr unsigned warm_up_runs = 3;

[[noreturn]] void fail(const command_line& command, const std::string& why) {
  std::string text;
  for (const auto& word : command) text += (text.empty() ? "" : " ") + word;
  throw measurement_error(exit_failed, "'" + text + "' " + why);
}

std::chrono::nanoseconds time_once(const command_line& command) {
  std::vector<char*> argv;
  for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const auto begin = clock::now();
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, argv[0], nullptr, nullptr, argv.data(), environ);
  if (failed != 0) fail(command, std::string("cannot be started: ") + std::strerror(failed));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  const auto took = clock::now() - begin;
  if (interruption::happened()) throw measurement_error(exit_interrupted, "interrupted");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    fail(command, WIFEXITED(status) ? "exited with " + std::to_string(WEXITSTATUS(status))
                                    : "was ended by signal " + std::to_string(WTERMSIG(status)));
  return took;
}

}  // namespace

command_times time_commands(const command_line& ours, const command_line& floor, std::chrono::nanoseconds length,
                            const progress_callback& progress) {
  for (unsigned i = 0; i < warm_up_runs; ++i) {
    time_once(floor);
    time_once(ours);
  }
  std::vector<std::chrono::nanoseconds> of_ours;
  std::vector<std::chrono::nanoseconds> of_floor;
  std::vector<double> ratios;
  const auto begin = clock::now();
  while (of_ours.size() < least_runs || clock::now() - begin < 2 * length) {
    of_floor.push_back(time_once(floor));
    of_ours.push_back(time_once(ours));
    ratios.push_back(static_cast<double>(of_ours.back().count()) / static_cast<double>(of_floor.back().count()));
    progress(
        std::min(1.0, static_cast<double>((clock::now() - begin).count()) / static_cast<double>(2 * length.count())));
  }
  return {median(of_ours), median(of_floor), median(ratios), static_cast<unsigned>(ratios.size())};
}

std::string own_path() {
  char path[4096];
  const auto length = ::readlink("/proc/self/exe", path, sizeof path);
  return length <= 0 ? "holdfast" : std::string(path, static_cast<std::size_t>(length));
}

}  // namespace holdfast::bench
