// Any text as a store's URL: parsed into parts that keep their promises, or refused with a reason.
#include "check.hpp"

#include <holdfast/uri.hpp>

#include <algorithm>

using holdfast::fuzz::check;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  const auto parsed = holdfast::uri::parse(holdfast::fuzz::text_of(bytes, size));
  if (!parsed) {
    check(parsed.error().code == holdfast::errc::invalid_argument, "a malformed URL is errc::invalid_argument");
    check(parsed.error().detail.starts_with("URL: "), "the reason says what it speaks of");
    return 0;
  }
  holdfast::uri url = *parsed;
  check(!url.scheme.empty(), "there is a scheme");
  check(std::none_of(url.scheme.begin(), url.scheme.end(), [](char c) { return c >= 'A' && c <= 'Z'; }),
        "the scheme is in lower case");
  for (const auto& where : url.hosts) {
    check(!where.host.empty(), "a host has a name");
    check(!where.port || *where.port != 0, "port 0 is none");
  }
  check(url.redacted().starts_with(url.scheme + ":"), "what is shown is a URL of the same scheme");
  check(url.options.empty() == url.expect_no_more_options("none").has_value(), "options that are left are refused");
  while (!url.options.empty()) {
    const auto option = *url.options.begin();
    check(url.take(option.first) == option.second, "take gives the option's value");
    check(!url.take(option.first), "and only once");
  }
  return 0;
}
