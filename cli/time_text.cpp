#include "time_text.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>

namespace holdfast::cli {

std::string rfc3339(std::chrono::system_clock::time_point when) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(when.time_since_epoch());
  const auto s = std::chrono::floor<std::chrono::seconds>(ms);
  const std::time_t seconds = s.count();
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[48];
  const std::size_t n = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + n, sizeof text - n, ".%03dZ", static_cast<int>((ms - s).count()));
  return text;
}

std::string brief_duration(std::chrono::nanoseconds length) {
  const long long ms = std::max<long long>(0, std::chrono::duration_cast<std::chrono::milliseconds>(length).count());
  const long long s = ms / 1000;
  char text[48];
  if (ms < 1000) {
    std::snprintf(text, sizeof text, "%lldms", ms);
  } else if (s < 60) {
    std::snprintf(text, sizeof text, "%lld.%llds", s, ms % 1000 / 100);
  } else if (s < 3600) {
    std::snprintf(text, sizeof text, "%lldm%02llds", s / 60, s % 60);
  } else if (s < 86400) {
    std::snprintf(text, sizeof text, "%lldh%02lldm", s / 3600, s % 3600 / 60);
  } else {
    std::snprintf(text, sizeof text, "%lldd%lldh", s / 86400, s % 86400 / 3600);
  }
  return text;
}

}  // namespace holdfast::cli
