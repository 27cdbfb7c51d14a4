// Rules about the sources: what a public header may include, what a library may not do, how long a file may be.
#include "source_tree.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <set>

namespace holdfast::architecture {
namespace {

const std::vector<std::string> code = {".cpp", ".hpp"};
const std::vector<std::string> everything = {"core", "backends", "cli", "bench", "testing", "tests", "examples"};

std::vector<source_file> below_each_backend(const std::string& folder) {
  std::vector<std::string> folders;
  for (const auto& backend : backends()) folders.push_back("backends/" + backend + "/" + folder);
  return files_below(folders, code);
}

std::vector<source_file> public_headers() {
  auto headers = files_below({"core/include"}, {".hpp", ".hpp.in"});
  for (auto& header : below_each_backend("include")) headers.push_back(std::move(header));
  return headers;
}

std::vector<source_file> library_sources() {
  auto sources = files_below({"core/src", "core/include"}, code);
  for (auto& source : below_each_backend("src")) sources.push_back(std::move(source));
  return sources;
}

TEST(public_headers, include_only_std_and_holdfast) {
  const std::regex include(R"(^\s*#\s*include\s*([<"][^>"]+[>"]))");
  const std::regex allowed(R"(<[a-z_0-9]+>|<holdfast/[a-z_/]+\.hpp>)");
  for (const auto& header : public_headers()) {
    for (std::size_t i = 0; i < header.lines.size(); ++i) {
      std::smatch match;
      if (!std::regex_search(header.lines[i], match, include)) continue;
      const std::string what = match[1];
      // The one header whose business it is, for those who ask for it.
      if (what == "<asio.hpp>" && header.path == "core/include/holdfast/asio.hpp") continue;
      EXPECT_TRUE(std::regex_match(what, allowed)) << header.at(i) << ": " << what;
    }
  }
}

TEST(public_headers, start_with_pragma_once) {
  for (const auto& header : public_headers()) EXPECT_EQ(header.lines.at(0), "#pragma once") << header.path;
}

TEST(public_headers, define_no_macros_but_export_and_version) {
  const std::regex define(R"(^\s*#\s*define\s+(\w+))");
  const std::regex allowed("HOLDFAST_EXPORT|HOLDFAST_VERSION_[A-Z]+");
  for (const auto& header : public_headers()) {
    for (std::size_t i = 0; i < header.lines.size(); ++i) {
      std::smatch match;
      if (!std::regex_search(header.lines[i], match, define)) continue;
      EXPECT_TRUE(std::regex_match(match[1].str(), allowed)) << header.at(i);
    }
  }
}

TEST(public_classes, say_whether_they_are_thread_safe) {
  const std::regex exported_class(R"(^class (\[\[nodiscard\]\] )?HOLDFAST_EXPORT (\w+))");
  for (const auto& header : files_below({"core/include/holdfast"}, {".hpp"})) {
    for (std::size_t i = 0; i < header.lines.size(); ++i) {
      std::smatch match;
      // An exception is a value; a subscription and held_leases stand behind classes that say it.
      if (!std::regex_search(header.lines[i], match, exported_class) || match[2] == "error") continue;
      if (match[2] == "subscription" || match[2] == "held_leases") continue;
      std::string comment;
      for (std::size_t j = i; j > 0 && header.lines[j - 1].starts_with("///"); --j) comment += header.lines[j - 1];
      EXPECT_NE(comment.find("Thread safety"), std::string::npos) << header.at(i) << ": " << match[2];
    }
  }
}

TEST(libraries, do_not_write_to_the_terminal) {
  EXPECT_EQ(lines_with(library_sources(), {"std::cout", "std::cerr", "std::clog", " printf(", ":printf(", "fprintf(",
                                           " puts(", ":puts(", "<iostream>"}),
            "");
}

TEST(libraries, detach_no_thread) {
  auto sources = library_sources();
  // A pool destroyed by one of its own threads cannot join that one.
  std::erase_if(sources, [](const source_file& file) { return file.path == "core/src/thread_pool.cpp"; });
  EXPECT_EQ(lines_with(sources, {".detach()"}), "");
}

TEST(libraries, the_core_knows_no_backend) {
  for (const auto& backend : backends()) {
    EXPECT_EQ(lines_with(files_below({"core"}, code), {"backends/" + backend, "namespace holdfast::" + backend}), "");
  }
}

TEST(libraries, backends_do_not_know_each_other) {
  for (const auto& one : backends()) {
    const auto sources = files_below({"backends/" + one + "/src", "backends/" + one + "/include"}, code);
    for (const auto& other : backends()) {
      if (one == other) continue;
      EXPECT_EQ(lines_with(sources, {"backends/" + other, "../" + other, "holdfast::" + other}), "");
    }
  }
}

/// Types of those headers, as `class NAME`, `struct NAME` and `enum class NAME` at the outermost level define them.
std::set<std::string> types_in(const std::vector<source_file>& headers) {
  const std::regex type(R"(^(?:class|struct|enum class) (?:HOLDFAST_EXPORT )?(\w+)[^;]*$)");
  std::set<std::string> names;
  for (const auto& header : headers) {
    for (const auto& line : header.lines) {
      std::smatch match;
      if (std::regex_search(line, match, type)) names.insert(match[1]);
    }
  }
  return names;
}

// Both are in namespace holdfast::sql, and in a static program they are linked together.
TEST(libraries, what_the_sql_stores_share_has_no_type_of_the_public_sql) {
  const auto ours = types_in(files_below({"core/include/holdfast/sql"}, {".hpp"}));
  const auto theirs = types_in(files_below({"backends/sql/src"}, {".hpp"}));
  EXPECT_TRUE(ours.contains("connection"));
  EXPECT_TRUE(theirs.contains("dialect"));
  for (const auto& name : ours) EXPECT_FALSE(theirs.contains(name)) << "holdfast::sql::" << name;
}

TEST(sources, are_not_longer_than_500_lines) {
  for (const auto& file : files_below(everything, {".cpp", ".hpp", ".txt", ".cmake", ".md"})) {
    EXPECT_LE(file.lines.size(), 500u) << file.path;
  }
}

TEST(sources, postpone_nothing) {
  auto files = files_below(everything, code);
  std::erase_if(files, [](const source_file& file) { return file.path.starts_with("tests/architecture/"); });
  EXPECT_EQ(lines_with(files, {"TODO", "FIXME", "#if 0", "DISABLED_"}), "");
}

TEST(sources, tests_do_not_sleep) {
  auto files = files_below({"core/tests", "cli/tests", "bench/tests", "testing", "tests", "backends"}, code);
  std::erase_if(files, [](const source_file& file) {
    const bool backend_source = file.path.starts_with("backends/") && file.path.find("/tests/") == std::string::npos;
    // eventually() looks at a condition until a deadline, for what only the store can tell: the one place that may.
    return backend_source || file.path.starts_with("tests/architecture/") || file.path == "testing/src/eventually.cpp";
  });
  EXPECT_EQ(lines_with(files, {"sleep_for", "sleep_until", "usleep(", "nanosleep("}), "");
}

}  // namespace
}  // namespace holdfast::architecture
