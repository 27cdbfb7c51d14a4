// Rules about the documentation: it is whole, both languages say the same, and its code is code that was compiled.
#include "markdown.hpp"
#include "source_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace holdfast::architecture {
namespace {

std::vector<source_file> pages() {
  return files_below({"README.md", "README.zh-CN.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "backends"}, {".md"});
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  return text;
}

std::vector<std::string> tables(const source_file& page) {
  std::vector<std::string> rows;
  std::copy_if(page.lines.begin(), page.lines.end(), std::back_inserter(rows),
               [](const std::string& line) { return line.starts_with("|"); });
  return rows;
}

TEST(documents, every_backend_is_in_the_matrix_and_has_its_page) {
  const auto matrix = read("docs/stores.md");
  for (const auto& backend : backends()) {
    const std::string page = "stores/" + backend + ".md";
    EXPECT_NE(lines_with({matrix}, {"(" + page + ")"}), "") << "docs/stores.md has no link to " << page;
    EXPECT_TRUE(std::filesystem::exists(root() / "docs" / page)) << "docs/" << page;
    EXPECT_TRUE(std::filesystem::exists(root() / "backends" / backend / "README.md")) << backend << " has no README.md";
  }
}

TEST(documents, every_backend_is_in_both_readmes) {
  for (const auto* name : {"README.md", "README.zh-CN.md"}) {
    for (const auto& backend : backends()) {
      EXPECT_NE(lines_with({read(name)}, {"docs/stores/" + backend + ".md"}), "") << name << ": " << backend;
    }
  }
}

TEST(documents, every_page_can_be_reached_from_the_index) {
  const auto index = read("docs/README.md");
  for (const auto& page : files_below({"docs"}, {".md"})) {
    if (page.path == index.path || page.path.starts_with("docs/design/")) continue;  // The folder is linked as a whole.
    const auto target = page.path.substr(std::string("docs/").size());
    EXPECT_NE(lines_with({index}, {"(" + target + ")"}), "") << "docs/README.md has no link to " << target;
  }
}

TEST(documents, links_lead_somewhere) {
  for (const auto& page : pages()) {
    const auto folder = (root() / page.path).parent_path();
    for (const auto& target : local_links(page)) {
      EXPECT_TRUE(std::filesystem::exists(folder / target)) << page.path << ": " << target;
    }
  }
}

/// Indentation and the alignment of comments are the page's own.
std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

bool stands_in_an_example(const code_block& block) {
  const auto examples = files_below({"examples"}, {".cpp"});
  return std::any_of(examples.begin(), examples.end(), [&](const source_file& example) {
    return without_spaces(joined(example.lines)).find(without_spaces(joined(block.lines))) != std::string::npos;
  });
}

TEST(documents, code_is_cut_from_what_was_compiled) {
  for (const auto& page : pages()) {
    for (const auto& block : code_blocks(page)) {
      if (block.language != "cpp") continue;
      if (block.provenance.empty()) {
        EXPECT_TRUE(stands_in_an_example(block))
            << page.at(block.line) << ": neither in an example nor <!-- file --> above";
      } else {
        EXPECT_EQ(joined(block.lines), joined(snippet(block.provenance))) << page.at(block.line);
      }
    }
  }
}

TEST(documents, both_readmes_have_the_same_headings) {
  EXPECT_EQ(joined(heading_levels(read("README.md"))), joined(heading_levels(read("README.zh-CN.md"))));
}

TEST(documents, both_readmes_have_the_same_code_and_commands) {
  const auto english = code_blocks(read("README.md"));
  const auto chinese = code_blocks(read("README.zh-CN.md"));
  ASSERT_EQ(english.size(), chinese.size());
  for (std::size_t i = 0; i < english.size(); ++i) {
    EXPECT_EQ(english[i].language, chinese[i].language);
    EXPECT_EQ(joined(english[i].lines), joined(chinese[i].lines)) << "README.zh-CN.md:" << chinese[i].line + 1;
  }
}

TEST(documents, both_readmes_have_the_same_table_rows) {
  const auto first_cell = [](const std::string& row) { return row.substr(0, row.find('|', 1)); };
  const auto english = tables(read("README.md"));
  const auto chinese = tables(read("README.zh-CN.md"));
  ASSERT_EQ(english.size(), chinese.size());
  for (std::size_t i = 0; i < english.size(); ++i) {
    // What is code in the first column is the same in every language.
    if (english[i].starts_with("| `")) {
      EXPECT_EQ(first_cell(english[i]), first_cell(chinese[i]));
    }
  }
}

}  // namespace
}  // namespace holdfast::architecture
