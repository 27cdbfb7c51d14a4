#include "doctor/finding.hpp"
#include "exit_code.hpp"
#include "json.hpp"
#include "output.hpp"
#include "subcommand.hpp"
#include "table.hpp"

#include <algorithm>
#include <array>

namespace holdfast::cli {

namespace {

constexpr std::array flags{store_flag, json_flag, help_flag};

constexpr std::string_view help_text =
    R"(Usage: holdfast doctor [--json] [--store URL]

Connects to the store and says what it guarantees as it is set up, and which of its settings endanger locks.

  --json       one JSON document (docs/json.md)
  --store URL  the store to examine

Exit codes: 0 nothing endangers locks; 1 something does; 64 usage; 69 the store cannot be reached or refuses.
)";

struct examiner {
  std::string_view scheme;
  std::vector<finding> (*examine)(const uri&);
};

// Stores that live in files of this machine. A server is asked itself.
constexpr std::array examiners{
    examiner{"memory", examine_memory},
    examiner{"sqlite", examine_sqlite},
    examiner{"file", examine_file},
};

std::vector<finding> examine(const client& store, const uri& where) {
  for (const examiner& known : examiners) {
    if (known.scheme == where.scheme) return known.examine(where);
  }
  auto found = store.examine();
  if (found.empty()) return {{finding::level::warning, "the settings of this kind of store are not examined"}};
  return found;
}

std::string as_json(const std::string& url, const std::vector<finding>& found) {
  json_writer out;
  out.begin_object().key("url").string(url).key("findings").begin_array();
  for (const finding& one : found) {
    out.begin_object().key("level").string(to_string(one.how)).key("text").string(one.text).end_object();
  }
  out.end_array().end_object();
  return out.text() + "\n";
}

std::string as_text(const std::string& url, const std::vector<finding>& found) {
  table rows({"store", url});
  for (const finding& one : found) rows.add({to_string(one.how), one.text});
  return rows.text();
}

int doctor(const invocation& call) {
  const client store = open_store(call);
  const auto where = uri::parse(call.store ? std::string(*call.store) : default_url());
  std::vector<finding> found{{finding::level::fact, "the store answers"}};
  // A question the store has to answer: that connect() came back says little where connecting is lazy.
  store.inspect("holdfast doctor");
  for (finding& one : examine(store, where.value())) found.push_back(std::move(one));
  print(call.args.has("--json") ? as_json(store.url(), found) : as_text(store.url(), found));
  const bool danger = std::ranges::any_of(found, [](const finding& one) { return one.how == finding::level::danger; });
  return danger ? exit_code::failed : exit_code::ok;
}

}  // namespace

constinit const subcommand doctor_command{
    .grammar = {"doctor", flags, {}},
    .summary = "say what the store guarantees as it is set up",
    .help = help_text,
    .run = doctor,
};

}  // namespace holdfast::cli
