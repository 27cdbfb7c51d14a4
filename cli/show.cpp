#include "exit_code.hpp"
#include "output.hpp"
#include "participants.hpp"
#include "subcommand.hpp"
#include "table.hpp"
#include "time_text.hpp"
#include "utf8.hpp"

#include <holdfast/mutex.hpp>

#include <array>

namespace holdfast::cli {
namespace {

constexpr std::array flags{store_flag, json_flag, help_flag};
constexpr std::array<std::string_view, 1> operands{"NAME"};

constexpr std::string_view help_text =
    R"(Usage: holdfast show NAME [--json] [--store URL]

Shows who holds the lock NAME and who waits for it, in the order of the queue. Prints 'free' if nobody does.

  --json       one JSON document, an object (docs/json.md); of a free name "holders" and "waiters" are empty
  --store URL  the store to ask

Exit codes: 0, free or not; 64 usage; 69 the store cannot be reached or refuses.
)";

entry find_entry(const client& store, std::string_view name) {
  for (entry& lock : store.inspect(name)) {
    if (lock.name == name) return std::move(lock);
  }
  entry free;
  free.name = name;
  return free;
}

std::string describe(const entry& lock) {
  if (lock.holders.empty() && lock.waiters.empty()) return "free\n";
  std::string text =
      printable(lock.name) + ": " + printable(lock.kind) + (lock.holders.empty() ? ", not held\n" : "\n");
  table rows({"", "WHO", "", "TOKEN", "SINCE", "REMAINING", "OWNER"});
  for (const participant& holder : lock.holders) {
    rows.add({"holds", who_text(holder), share_text(holder), std::to_string(holder.token.value()),
              rfc3339(holder.since), brief_duration(holder.remaining), holder.owner});
  }
  for (const participant& waiter : lock.waiters) {
    rows.add({"waits", who_text(waiter), share_text(waiter), "-", rfc3339(waiter.since), "-", waiter.owner});
  }
  return text + rows.text();
}

int show(const invocation& call) {
  const std::string_view name = *call.args.operand(0);
  const client store = open_store(call);
  // Made only to have the name checked: of one that cannot exist, "free" would be a lie.
  const mutex checked(store, std::string(name));
  const entry lock = find_entry(store, name);
  if (call.args.has("--json")) {
    json_writer out;
    write_entry(out, lock);
    print(out.text() + "\n");
  } else {
    print(describe(lock));
  }
  return exit_code::ok;
}

}  // namespace

constinit const subcommand show_command{
    .grammar = {"show", flags, operands},
    .summary = "show who holds one lock and who waits for it",
    .help = help_text,
    .run = show,
};

}  // namespace holdfast::cli
