// Rules about errors: each code has a sentence of its own and is explained in the documentation.
#include "source_tree.hpp"

#include <holdfast/error.hpp>

#include <gtest/gtest.h>

#include <regex>
#include <set>

namespace holdfast::architecture {
namespace {

/// The enumerators of errc, as the header spells them.
std::vector<std::string> error_names() {
  const auto header = read("core/include/holdfast/error.hpp");
  const std::regex enumerator(R"(^  (\w+)( = 1)?,\s+///<)");
  std::vector<std::string> names;
  for (const auto& line : header.lines) {
    std::smatch match;
    if (std::regex_search(line, match, enumerator)) names.push_back(match[1]);
  }
  return names;
}

TEST(errors, have_a_message_each) {
  const auto names = error_names();
  ASSERT_EQ(names.size(), static_cast<std::size_t>(errc::deadlock)) << "the last enumerator counts them all";
  const std::string unknown = category().message(0);
  std::set<std::string> messages;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto message = make_error_code(static_cast<errc>(i + 1)).message();
    EXPECT_GT(message.size(), 10u) << names[i];
    EXPECT_NE(message, unknown) << names[i];
    EXPECT_TRUE(messages.insert(message).second) << names[i] << " says the same as another: " << message;
  }
}

TEST(errors, are_explained_in_the_documentation) {
  const auto page = read("docs/errors.md");
  for (const auto& name : error_names()) {
    EXPECT_NE(lines_with({page}, {"| `" + name + "` |"}), "") << name << " has no row in docs/errors.md";
  }
}

}  // namespace
}  // namespace holdfast::architecture
