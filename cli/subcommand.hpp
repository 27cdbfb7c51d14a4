#pragma once

#include "arguments.hpp"

#include <holdfast/client.hpp>

#include <optional>
#include <span>
#include <string_view>

namespace holdfast::cli {

/// One use of a subcommand, taken apart.
struct invocation {
  const arguments& args;
  std::optional<std::string_view> store;  ///< --store, before or behind the subcommand.
};

struct subcommand {
  syntax grammar;
  std::string_view summary;  ///< One line of `holdfast help`.
  std::string_view help;     ///< What `holdfast help CMD` prints.
  int (*run)(const invocation&) = nullptr;
  /// Set: takes its words as they are, its own name first (bench has a command line of its own).
  int (*run_words)(std::span<char* const> words, std::optional<std::string_view> store) = nullptr;

  std::string_view name() const { return grammar.command; }
};

extern const subcommand run_command;
extern const subcommand ls_command;
extern const subcommand show_command;
extern const subcommand watch_command;
extern const subcommand evict_command;
extern const subcommand stores_command;
extern const subcommand doctor_command;
extern const subcommand ddl_command;
#ifdef HOLDFAST_HAS_BENCH
extern const subcommand bench_command;
#endif

/// Connects to the store `call` names, or to the default one.
client open_store(const invocation& call, client_options options = {});

inline constexpr flag store_flag{"--store", "URL"};
inline constexpr flag json_flag{"--json", ""};
inline constexpr flag help_flag{"--help", ""};

}  // namespace holdfast::cli
