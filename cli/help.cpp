#include "help.hpp"

#include "exit_code.hpp"
#include "output.hpp"

#include <array>

namespace holdfast::cli {
namespace {

constexpr std::array all{
    &run_command,   &ls_command,     &show_command,   &watch_command,
    &evict_command, &stores_command, &doctor_command, &ddl_command,
#ifdef HOLDFAST_HAS_BENCH
    &bench_command,
#endif
};

constexpr std::string_view head =
    R"(Usage: holdfast [--store URL] COMMAND ...

Runs commands under a lock that all users of a store share, and shows and ends such locks.

)";

constexpr std::string_view tail = R"(
  help     this text, or 'holdfast help COMMAND'

The store is the one --store names (before or behind the command), else $HOLDFAST_STORE, else this user's own
embedded store. Keep passwords off the command line: use $HOLDFAST_STORE or the URL's password-file= option.

'holdfast --version' prints the version. holdfast(1) is the manual.
)";

}  // namespace

const subcommand* find_subcommand(std::string_view name) {
  for (const subcommand* known : all) {
    if (known->name() == name) return known;
  }
  return nullptr;
}

std::string list_subcommands() {
  std::string text;
  for (const subcommand* known : all) text.append(known->name()).append(", ");
  return text + "help";
}

int print_overview() {
  std::string text(head);
  for (const subcommand* known : all) {
    std::string line = "  " + std::string(known->name());
    line.resize(11, ' ');
    text += line + std::string(known->summary) + "\n";
  }
  print(text += tail);
  return exit_code::ok;
}

int help(std::span<char* const> words) {
  if (words.empty()) return print_overview();
  if (words.size() > 1) throw usage_error(quoted(words[1]) + " is one word too many; write 'holdfast help COMMAND'");
  const std::string_view name = words.front();
  if (name == "--help" || name == "-h" || name == "help") return print_overview();
  const subcommand* known = find_subcommand(name);
  if (!known) throw usage_error("unknown command " + quoted(name) + "; there are " + list_subcommands());
  if (known->run_words) {
    std::string question[] = {std::string(name), "--help"};
    char* const asked[] = {question[0].data(), question[1].data()};
    return known->run_words(std::span<char* const>(asked), std::nullopt);
  }
  print(known->help);
  return exit_code::ok;
}

}  // namespace holdfast::cli
