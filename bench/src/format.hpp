#pragma once

#include <chrono>
#include <string>

namespace holdfast::bench {

std::string grouped(double value);       ///< "1,234,567"; rounded to a whole number.
std::string short_number(double value);  ///< Three significant digits at most, no exponent: "0.312", "41.7", "1,280".
std::string short_duration(std::chrono::nanoseconds time);  ///< "840 ns", "12.4 us", "3.10 ms", "2.00 s".

}  // namespace holdfast::bench
