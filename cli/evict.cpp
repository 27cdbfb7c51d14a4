#include "exit_code.hpp"
#include "output.hpp"
#include "subcommand.hpp"
#include "utf8.hpp"

#include <array>

namespace holdfast::cli {
namespace {

constexpr flag yes_flag{"--yes", ""};
constexpr std::array flags{yes_flag, store_flag, help_flag};
constexpr std::array<std::string_view, 1> operands{"NAME"};

constexpr std::string_view help_text =
    R"(Usage: holdfast evict NAME --yes [--store URL]

Takes the lock NAME from whoever holds it and lets the next one in. The holder is told, and a command under
'holdfast run' is ended; but any other holder may still be at work: only its fencing token stops it.

  --yes        required: says that you know this
  --store URL  the store to change

Exit codes: 0 it was held and is not any more; 1 nobody held it; 64 usage; 69 the store cannot be reached or refuses.
)";

int evict(const invocation& call) {
  const std::string_view name = *call.args.operand(0);
  if (!call.args.has("--yes")) {
    throw usage_error("evict takes " + quoted(name) + " from a holder that may still be at work; say so with --yes");
  }
  if (!open_store(call).evict(name)) {
    say("nobody holds " + quoted(name));
    return exit_code::failed;
  }
  print("evicted the holder of '" + printable(name) + "'\n");
  return exit_code::ok;
}

}  // namespace

constinit const subcommand evict_command{
    .grammar = {"evict", flags, operands},
    .summary = "take a lock from its holder",
    .help = help_text,
    .run = evict,
};

}  // namespace holdfast::cli
