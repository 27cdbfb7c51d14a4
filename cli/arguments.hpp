#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// The command line is wrong. what() names the part and what would be right.
class usage_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct flag {
  std::string_view name;   ///< With its dashes.
  std::string_view value;  ///< What it takes, as help spells it (`DURATION`); empty: nothing.
};

/// What one subcommand understands.
struct syntax {
  std::string_view command;
  std::span<const flag> flags;
  std::span<const std::string_view> operands;  ///< `NAME`; one in brackets may be left out.
  bool takes_command = false;                  ///< Ends with `-- CMD [ARG...]`.
};

/// A command line taken apart exactly: what a syntax does not know, or says twice, is a usage_error.
class arguments {
 public:
  arguments(const syntax& known, std::span<char* const> words);

  bool has(std::string_view flag) const;
  std::optional<std::string_view> value(std::string_view flag) const;
  /// The n-th operand, or nothing where it was left out.
  std::optional<std::string_view> operand(std::size_t n) const;
  /// What stands behind `--`.
  std::span<char* const> command() const { return command_; }

  /// The flag's value as a duration. usage_error names the flag and an example.
  std::optional<std::chrono::nanoseconds> duration(std::string_view flag) const;
  /// The flag's value as a number from 1 on.
  std::optional<std::uint32_t> count(std::string_view flag) const;

 private:
  struct given {
    std::string_view flag;
    std::string_view value;
  };

  void add_flag(const syntax& known, std::span<char* const> words, std::size_t& at);
  void add_command(const syntax& known, std::span<char* const> rest);
  void check_operands(const syntax& known) const;

  std::vector<given> flags_;
  std::vector<std::string_view> operands_;
  std::span<char* const> command_;
};

/// Text in single quotes, for messages; control characters are made harmless.
std::string quoted(std::string_view text);

}  // namespace holdfast::cli
