#pragma once

#include "child.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace holdfast::cli::testing {

/// What a program that has ended left behind.
struct outcome {
  int code = 0;
  std::string out;
  std::string err;
};

/// Each test has a store of its own, named by $HOLDFAST_STORE, and drives the real command.
class cli_test : public ::testing::Test {
 protected:
  cli_test();
  ~cli_test() override;

  /// Starts `holdfast` with these words.
  child start(std::vector<std::string> words) const;
  /// Starts any program; its $HOLDFAST is the command's path.
  child start_program(std::vector<std::string> words) const;
  outcome run(std::vector<std::string> words) const;
  static outcome finish(child&& started);

  /// Starts `holdfast run NAME OPTION... -- sh -c SCRIPT` and waits for the script's first line, "ready".
  child start_script(const std::string& name, const std::vector<std::string>& options, const std::string& script) const;

  nlohmann::json show(const std::string& name) const;
  bool is_free(const std::string& name) const;
  /// The process that holds the lock, as the store knows it.
  pid_t keeper_of(const std::string& name) const;

  std::string path(const std::string& file) const { return directory_ + "/" + file; }
  std::string read_file(const std::string& file) const;

  child::options how_;

 private:
  std::string directory_;
};

}  // namespace holdfast::cli::testing
