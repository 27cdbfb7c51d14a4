// A password in a URL, followed by any text, encoded as it should be or not: it is never shown.
#include "check.hpp"

#include <holdfast/uri.hpp>

using holdfast::fuzz::check;

namespace {

constexpr std::string_view secret = "hunter2";

void expect_hidden(const std::string& url) {
  const auto parsed = holdfast::uri::parse(url);
  const std::string shown = parsed ? parsed->redacted() : parsed.error().detail;
  check(shown.find(secret) == std::string::npos, "a password is not shown: " + shown);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  const auto text = holdfast::fuzz::text_of(bytes, size);
  // The word must not come from the text itself, nor the text begin an option of its own.
  if (text.find(secret) != text.npos || text.find_first_of("&%") != text.npos) return 0;
  expect_hidden("redis://user:" + std::string(secret) + std::string(text) + "@host:1/0");
  expect_hidden("redis://host/0?password=" + std::string(secret) + std::string(text));
  return 0;
}
