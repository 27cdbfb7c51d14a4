#include "exit_code.hpp"
#include "output.hpp"
#include "participants.hpp"
#include "subcommand.hpp"
#include "time_text.hpp"
#include "utf8.hpp"

#include <unistd.h>

#include <array>

namespace holdfast::cli {
namespace {

constexpr std::array flags{store_flag, json_flag, help_flag};
constexpr std::array<std::string_view, 1> operands{"[PREFIX]"};

constexpr std::string_view help_text =
    R"(Usage: holdfast watch [PREFIX] [--json] [--store URL]

Prints a line for every grant, release, wait and end of a wait of locks whose names start with PREFIX, beginning
with those there now, until it is interrupted.

  --json       one JSON object per line (docs/json.md)
  --store URL  the store to watch

Exit codes: ends by the signal that interrupts it; 64 usage; 69 the store cannot be reached or refuses.
)";

std::string json_line(const change& news) {
  json_writer out;
  out.begin_object();
  out.key("what").string(to_string(news.what));
  out.key("name").string(news.name);
  out.key("lock_kind").string(news.lock_kind);
  out.key("who");
  write_participant(out, news.who);
  out.end_object();
  return out.text() + "\n";
}

std::string text_line(const change& news) {
  std::string what = to_string(news.what);
  what.resize(std::max<std::size_t>(what.size(), 8), ' ');
  std::string line = rfc3339(std::chrono::system_clock::now()) + "  " + what + "  " + printable(news.name) + "  " +
                     printable(who_text(news.who));
  if (const std::string share = share_text(news.who); !share.empty()) line += ", " + share;
  if (news.who.token.value() != 0) line += ", token " + std::to_string(news.who.token.value());
  return line + "\n";
}

int watch(const invocation& call) {
  client store = open_store(call);
  const auto line = call.args.has("--json") ? json_line : text_line;
  store.watch(call.args.operand(0).value_or(""), [line](const change& news) { print(line(news)); });
  // Signals keep the actions they came with: Ctrl-C and a closed pipe end a program that only reads.
  for (;;) ::pause();
}

}  // namespace

constinit const subcommand watch_command{
    .grammar = {"watch", flags, operands},
    .summary = "print a line whenever a lock is granted, released or waited for",
    .help = help_text,
    .run = watch,
};

}  // namespace holdfast::cli
