// Any text as a duration: a number with a unit, or refused.
#include "check.hpp"

#include <holdfast/uri.hpp>

using holdfast::fuzz::check;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  const auto text = holdfast::fuzz::text_of(bytes, size);
  const auto parsed = holdfast::parse_duration(text);
  if (!parsed) {
    check(parsed.error().code == holdfast::errc::invalid_argument, "a malformed duration is errc::invalid_argument");
    return 0;
  }
  check(text.ends_with('s') || text.ends_with('m') || text.ends_with('h'), "a duration has a unit");
  check(text.find_first_of("0123456789") != text.npos, "a duration has a number");
  check((*parsed < std::chrono::nanoseconds::zero()) <= text.starts_with('-'), "only a minus sign makes it negative");
  return 0;
}
