#include "machine.hpp"

#include "format.hpp"

#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <thread>

namespace holdfast::bench {

namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    return colon == line.npos ? line : line.substr(colon + 2);
  }
  return "unknown processor";
}

}  // namespace

machine this_machine() {
  machine m;
  m.cpu = cpu_model();
  m.cores = std::thread::hardware_concurrency();
  utsname names{};
  if (::uname(&names) == 0) m.kernel = std::string(names.sysname) + ' ' + names.release;
  struct sysinfo memory{};
  if (::sysinfo(&memory) == 0) m.memory_gib = static_cast<double>(memory.totalram) * memory.mem_unit / (1u << 30);
  if (::getloadavg(&m.load, 1) != 1) m.load = 0;
  return m;
}

std::string describe(const machine& m) {
  return m.cpu + ", " + std::to_string(m.cores) + " cores, " + short_number(m.memory_gib) + " GiB, " + m.kernel;
}

std::string warning(const machine& m) {
  if (m.load * 2 <= m.cores) return {};
  return "the load is " + short_number(m.load) + " on " + std::to_string(m.cores) +
         " cores: rows that hand over wait for the scheduler, floors mostly do not, so ratios may be far off";
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace holdfast::bench
