#include "format.hpp"

#include <cmath>
#include <cstdio>

namespace holdfast::bench {

namespace {

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

}  // namespace

std::string grouped(double value) {
  const std::string digits = fixed(std::round(std::fabs(value)), 0);
  std::string text = value <= -0.5 ? "-" : "";
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string short_number(double value) {
  const double size = std::fabs(value);
  if (size >= 99.95) return grouped(value);
  std::string text = fixed(value, size >= 9.995 ? 1 : size >= 0.9995 ? 2 : size >= 0.00995 ? 3 : 4);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string short_duration(std::chrono::nanoseconds time) {
  const auto ns = static_cast<double>(time.count());
  const char* unit = " s";
  double value = ns / 1e9;
  if (ns < 999.5) {
    return fixed(ns, 0) + " ns";
  } else if (ns < 999.5e3) {
    unit = " us";
    value = ns / 1e3;
  } else if (ns < 999.5e6) {
    unit = " ms";
    value = ns / 1e6;
  }
  return fixed(value, value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2) + unit;
}

}  // namespace holdfast::bench
