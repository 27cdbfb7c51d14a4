#include "cli_fixture.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace holdfast::cli::testing {

cli_test::cli_test() {
  std::string pattern = (std::filesystem::temp_directory_path() / "holdfast-cli-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp");
  directory_ = pattern;
  how_.environment["HOLDFAST_STORE"] = "sqlite://" + path("locks.db");
  how_.environment["HOLDFAST"] = HOLDFAST_BINARY;
  how_.environment["DIR"] = directory_;
}

cli_test::~cli_test() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

child cli_test::start(std::vector<std::string> words) const {
  words.insert(words.begin(), HOLDFAST_BINARY);
  return start_program(std::move(words));
}

child cli_test::start_program(std::vector<std::string> words) const { return child(std::move(words), how_); }

outcome cli_test::finish(child&& started) {
  started.close_input();
  outcome end;
  end.code = started.wait();
  end.out = started.out();
  end.err = started.err();
  return end;
}

outcome cli_test::run(std::vector<std::string> words) const { return finish(start(std::move(words))); }

child cli_test::start_script(const std::string& name, const std::vector<std::string>& options,
                             const std::string& script) const {
  std::vector<std::string> words{"run", name};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", "sh", "-c", script});
  child started = start(std::move(words));
  const auto line = started.read_line();
  EXPECT_EQ(line.value_or("nothing"), "ready") << script;
  return started;
}

nlohmann::json cli_test::show(const std::string& name) const {
  const outcome shown = run({"show", name, "--json"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  return nlohmann::json::parse(shown.out, nullptr, false);
}

bool cli_test::is_free(const std::string& name) const {
  const auto lock = show(name);
  return lock["holders"].empty() && lock["waiters"].empty();
}

pid_t cli_test::keeper_of(const std::string& name) const { return show(name)["holders"].at(0)["pid"].get<pid_t>(); }

std::string cli_test::read_file(const std::string& file) const {
  std::ifstream in(path(file));
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace holdfast::cli::testing
