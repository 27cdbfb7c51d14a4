#include "exit_code.hpp"
#include "json.hpp"
#include "output.hpp"
#include "subcommand.hpp"
#include "table.hpp"

#include <holdfast/backend.hpp>

#include <array>

namespace holdfast::cli {
namespace {

constexpr std::array flags{json_flag, help_flag};

constexpr std::string_view help_text =
    R"(Usage: holdfast stores [--json]

Prints which primitive works on which store, by URL scheme; 'fifo' is the fair queue of --fair. Stores whose library
is not installed are named below.

  --json  one JSON document, an array (docs/json.md)

Exit codes: 0; 64 usage.
)";

struct feature {
  std::string_view name;
  std::string_view head;  ///< Short, so that twelve of them fit a terminal.
  bool (*works)(const spi::capabilities&);
};

using caps = const spi::capabilities&;
constexpr std::array features{
    feature{"mutex", "mutex", [](caps c) { return c.mutex; }},
    feature{"recursive_mutex", "recursive", [](caps c) { return c.mutex; }},
    feature{"shared_mutex", "shared", [](caps c) { return c.shared_mutex; }},
    feature{"counting_semaphore", "counting", [](caps c) { return c.semaphore; }},
    feature{"permit_semaphore", "permit", [](caps c) { return c.permits; }},
    feature{"latch", "latch", [](caps c) { return c.latch; }},
    feature{"multi_mutex", "multi", [](caps c) { return c.mutex; }},
    feature{"quorum_mutex", "quorum", [](caps c) { return c.mutex && c.raise_token; }},
    feature{"striped_mutex", "striped", [](caps c) { return c.mutex; }},
    feature{"cell", "cell", [](caps c) { return c.cell; }},
    feature{"fence", "fence", [](caps c) { return c.fence; }},
    feature{"fifo", "fifo", [](caps c) { return c.fifo; }},
};

std::string as_json(const std::vector<spi::registration>& stores) {
  json_writer out;
  out.begin_array();
  for (const auto& store : stores) {
    out.begin_object();
    out.key("scheme").string(store.scheme);
    out.key("here").boolean(store.make != nullptr);
    for (const feature& f : features) out.key(f.name).boolean(f.works(store.supports));
    out.key("note").string(store.note);
    out.end_object();
  }
  out.end_array();
  return out.text() + "\n";
}

std::string as_text(const std::vector<spi::registration>& stores) {
  std::vector<std::string> head{"STORE"};
  for (const feature& f : features) head.emplace_back(f.head);
  table rows(head);
  table notes({"STORE", "NOTE"});
  std::string missing;
  for (const auto& store : stores) {
    if (!store.make) {
      missing += (missing.empty() ? "" : ", ") + store.scheme;
      continue;
    }
    std::vector<std::string> row{store.scheme};
    for (const feature& f : features) row.emplace_back(f.works(store.supports) ? "yes" : "-");
    rows.add(std::move(row));
    notes.add({store.scheme, store.note});
  }
  return rows.text() + "\n" + notes.text() + (missing.empty() ? "" : "\nnot installed here: " + missing + "\n");
}

int stores(const invocation& call) {
  const auto known = spi::all_backends();
  print(call.args.has("--json") ? as_json(known) : as_text(known));
  return exit_code::ok;
}

}  // namespace

constinit const subcommand stores_command{
    .grammar = {"stores", flags, {}},
    .summary = "print which primitive works on which store",
    .help = help_text,
    .run = stores,
};

}  // namespace holdfast::cli
