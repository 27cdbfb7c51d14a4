#include "exit_code.hpp"
#include "output.hpp"
#include "participants.hpp"
#include "subcommand.hpp"
#include "table.hpp"
#include "time_text.hpp"

#include <array>

namespace holdfast::cli {
namespace {

constexpr std::array flags{store_flag, json_flag, help_flag};
constexpr std::array<std::string_view, 1> operands{"[PREFIX]"};

constexpr std::string_view help_text =
    R"(Usage: holdfast ls [PREFIX] [--json] [--store URL]

Lists the locks that are held or waited for and whose names start with PREFIX: one line per holder.

  --json       one JSON document, an array (docs/json.md)
  --store URL  the store to ask

Exit codes: 0; 64 usage; 69 the store cannot be reached or refuses.
)";

void add_rows(table& rows, const entry& lock) {
  const std::string waiting = lock.waiters.empty() ? "-" : std::to_string(lock.waiters.size());
  if (lock.holders.empty()) rows.add({lock.name, lock.kind, "-", "-", "-", "-", waiting});
  for (const participant& holder : lock.holders) {
    const std::string share = share_text(holder);
    rows.add({lock.name, lock.kind + (share.empty() ? "" : " (" + share + ")"), who_text(holder),
              std::to_string(holder.token.value()), age_text(holder), brief_duration(holder.remaining), waiting});
  }
}

int list(const invocation& call) {
  const auto locks = open_store(call).inspect(call.args.operand(0).value_or(""));
  if (call.args.has("--json")) {
    json_writer out;
    out.begin_array();
    for (const entry& lock : locks) write_entry(out, lock);
    out.end_array();
    print(out.text() + "\n");
    return exit_code::ok;
  }
  if (locks.empty()) return exit_code::ok;
  table rows({"NAME", "KIND", "HELD BY", "TOKEN", "FOR", "REMAINING", "WAITING"});
  for (const entry& lock : locks) add_rows(rows, lock);
  print(rows.text());
  return exit_code::ok;
}

}  // namespace

constinit const subcommand ls_command{
    .grammar = {"ls", flags, operands},
    .summary = "list the locks that are held or waited for",
    .help = help_text,
    .run = list,
};

}  // namespace holdfast::cli
