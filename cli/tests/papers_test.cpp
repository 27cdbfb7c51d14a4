#include "cli_fixture.hpp"

#include <fstream>
#include <iterator>

namespace holdfast::cli::testing {
namespace {

using papers = cli_test;

const std::string source = HOLDFAST_SOURCE_DIR;

std::string content(const std::string& file) {
  std::ifstream in(source + file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(papers, the_manual_renders_without_a_warning) {
  if (finish(start_program({"sh", "-c", "command -v man"})).code != 0) GTEST_SKIP() << "man is not installed";
  const outcome end = finish(start_program(
      {"env", "MANWIDTH=80", "LC_ALL=C.UTF-8", "man", "--warnings", "-E", "UTF-8", "-l", source + "/man/holdfast.1"}));
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.err, "");
  EXPECT_NE(end.out.find("HOLDFAST_TOKEN"), std::string::npos);
}

/// Every option the command knows, by its own help.
TEST_F(papers, manual_completion_and_docs_know_every_option) {
  const std::string manual = content("/man/holdfast.1");
  const std::string completion = content("/completion/holdfast");
  const std::string docs = content("/../docs/command.md");
  for (const std::string command : {"run", "ls", "show", "watch", "evict", "stores", "doctor", "ddl"}) {
    const std::string help = run({"help", command}).out;
    EXPECT_NE(completion.find(command), std::string::npos) << command;
    for (auto at = help.find("\n  --"); at != std::string::npos; at = help.find("\n  --", at + 1)) {
      const std::string option = help.substr(at + 3, help.find_first_of(" \n", at + 3) - at - 3);
      std::string in_manual = option;
      for (auto dash = in_manual.find('-'); dash != std::string::npos; dash = in_manual.find('-', dash + 2)) {
        in_manual.insert(dash, "\\");
      }
      EXPECT_NE(manual.find(in_manual), std::string::npos) << command << " " << option;
      EXPECT_NE(completion.find(option), std::string::npos) << command << " " << option;
      EXPECT_NE(docs.find(option), std::string::npos) << command << " " << option;
    }
  }
}

class completed_line : public cli_test {
 protected:
  /// What bash would offer behind these words.
  std::string offers(const std::string& words) {
    const std::string script = "source " + source + "/completion/holdfast; COMP_WORDS=(" + words +
                               "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _holdfast; echo \"${COMPREPLY[*]}\"";
    const std::string path_first = "PATH=$(dirname \"$HOLDFAST\"):$PATH; ";
    return finish(start_program({"bash", "-c", path_first + script})).out;
  }
};

TEST_F(completed_line, offers_commands_options_and_names) {
  EXPECT_EQ(offers("holdfast ru"), "run\n");
  EXPECT_NE(offers("holdfast ''").find("doctor"), std::string::npos);
  EXPECT_NE(offers("holdfast run n --no").find("--no-wait"), std::string::npos);
  EXPECT_EQ(offers("holdfast --store memory: ev"), "evict\n");
  child holder = start_script("jobs/1", {}, "echo ready; read x");
  EXPECT_EQ(offers("holdfast show jo"), "jobs/1\n");
  EXPECT_EQ(offers("holdfast help wat"), "watch\n");
}

}  // namespace
}  // namespace holdfast::cli::testing
