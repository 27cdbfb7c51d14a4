// What libholdfast exports is what is written down: an interface changes on purpose or not at all.
#include "source_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace holdfast::architecture {
namespace {

std::vector<std::string> output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  std::vector<std::string> lines;
  char buffer[4096];
  while (pipe && std::fgets(buffer, sizeof buffer, pipe.get()) != nullptr) {
    std::string line(buffer);
    if (line.ends_with('\n')) line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

std::string missing_in(const std::vector<std::string>& some, const std::vector<std::string>& from) {
  std::string text;
  for (const auto& line : from) {
    if (!std::binary_search(some.begin(), some.end(), line)) text += "  " + line + "\n";
  }
  return text;
}

TEST(exported_symbols, match_the_recorded_list) {
  auto exported = output_of((root() / "tests/architecture/exported_symbols").string() + " " + HOLDFAST_LIBRARY);
  auto recorded = read("tests/architecture/exported_symbols.txt").lines;
  std::sort(exported.begin(), exported.end());
  std::sort(recorded.begin(), recorded.end());
  ASSERT_FALSE(exported.empty());
  const char* how =
      "If that is meant: tests/architecture/exported_symbols LIBRARY > tests/architecture/exported_symbols.txt";
  EXPECT_EQ(missing_in(recorded, exported), "") << "exported, but not recorded. " << how;
  EXPECT_EQ(missing_in(exported, recorded), "") << "recorded, but not exported any more. " << how;
}

}  // namespace
}  // namespace holdfast::architecture
