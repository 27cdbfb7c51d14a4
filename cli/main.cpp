#include "exit_code.hpp"
#include "help.hpp"
#include "output.hpp"
#include "report.hpp"
#include "subcommand.hpp"

#include <holdfast/version.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <span>
#include <string>

namespace holdfast::cli {
namespace {

/// What stands before the subcommand.
struct preamble {
  std::optional<std::string_view> store;
  bool help = false;
  bool version = false;
  std::size_t words = 0;  ///< How many words it takes up.
};

preamble read_preamble(std::span<char* const> words) {
  preamble found;
  for (; found.words < words.size(); ++found.words) {
    const std::string_view word = words[found.words];
    if (!word.starts_with('-')) break;
    if (word == "--help" || word == "-h") {
      found.help = true;
    } else if (word == "--version") {
      found.version = true;
    } else if (word == "--store" || word.starts_with("--store=")) {
      if (found.store) throw usage_error("--store is given twice");
      if (word != "--store") {
        found.store = word.substr(std::string_view("--store=").size());
      } else if (++found.words < words.size()) {
        found.store = words[found.words];
      } else {
        throw usage_error("--store needs a value: --store URL");
      }
    } else {
      throw usage_error("unknown option " + quoted(word) + "; before the command stand --store URL, --help, --version");
    }
  }
  return found;
}

int run_subcommand(const subcommand& chosen, std::span<char* const> words, std::optional<std::string_view> store) {
  if (chosen.run_words) return chosen.run_words(words, store);
  const arguments args(chosen.grammar, words.subspan(1));
  if (args.has("--help")) {
    print(chosen.help);
    return exit_code::ok;
  }
  if (const auto later = args.value("--store")) {
    if (store) throw usage_error("--store is given twice");
    store = later;
  }
  return chosen.run({args, store});
}

int dispatch(std::span<char* const> words) {
  const preamble before = read_preamble(words);
  words = words.subspan(before.words);
  if (before.version) {
    print("holdfast " HOLDFAST_VERSION_STRING "\n");
    return exit_code::ok;
  }
  if (before.help) return print_overview();
  if (words.empty()) throw usage_error("no command given; 'holdfast help' lists them");
  const std::string_view name = words.front();
  if (name == "help") return help(words.subspan(1));
  const subcommand* chosen = find_subcommand(name);
  if (!chosen) throw usage_error("unknown command " + quoted(name) + "; there are " + list_subcommands());
  return run_subcommand(*chosen, words, before.store);
}

/// What is opened as number 0, 1 or 2, where a caller closed those, would get our words: a lock file, a socket. So they
/// are taken, in a way that reading and writing still fails; and the command still finds them closed.
void take_closed_descriptors() noexcept {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest number that is free: this one.
    static_cast<void>(::open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC));
  }
}

}  // namespace
}  // namespace holdfast::cli

int main(int argc, char** argv) {
  using namespace holdfast::cli;
  take_closed_descriptors();
  // argc is 0 when somebody calls exec with an empty argument list.
  const std::span<char* const> words(argv, static_cast<std::size_t>(argc));
  const int code = answer_errors([&] { return dispatch(words.subspan(argc > 0 ? 1 : 0)); });
  // Without the destructors of libraries: a thread may still be inside one, dialling a server that does not answer.
  std::fflush(nullptr);
  ::_exit(code);
}
