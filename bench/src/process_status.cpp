#include "process_status.hpp"

#include <sys/resource.h>

#include <cstdio>
#include <cstring>
#include <memory>

namespace holdfast::bench {

namespace {

struct close_file {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

long status_field(const char* name) {
  const std::unique_ptr<std::FILE, close_file> status(std::fopen("/proc/self/status", "r"));
  if (!status) return 0;
  char line[256];
  while (std::fgets(line, sizeof line, status.get()) != nullptr) {
    long value = 0;
    if (std::strncmp(line, name, std::strlen(name)) == 0 && std::sscanf(line + std::strlen(name), ": %ld", &value) == 1)
      return value;
  }
  return 0;
}

std::chrono::nanoseconds to_duration(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

}  // namespace

double resident_mib() { return static_cast<double>(status_field("VmRSS")) / 1024; }

unsigned thread_count() { return static_cast<unsigned>(status_field("Threads")); }

std::chrono::nanoseconds cpu_time() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return to_duration(usage.ru_utime) + to_duration(usage.ru_stime);
}

void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace holdfast::bench
