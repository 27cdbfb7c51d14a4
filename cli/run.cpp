#include "run/supervisor.hpp"
#include "subcommand.hpp"

#include <array>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::array flags{
    flag{"--wait", "DURATION"},
    flag{"--no-wait", ""},
    flag{"--ttl", "DURATION"},
    flag{"--fair", ""},
    flag{"--shared", ""},
    flag{"--permits", "N"},
    flag{"--of", "M"},
    flag{"--grace", "DURATION"},
    store_flag,
    help_flag,
};
constexpr std::array<std::string_view, 1> operands{"NAME"};

constexpr std::string_view help_text =
    R"(Usage: holdfast run NAME [OPTION...] -- CMD [ARG...]

Waits for the lock NAME, runs CMD while holding it, and releases it when CMD and all that CMD started are gone.
Processes that CMD leaves behind get SIGTERM, and SIGKILL after --grace, before the lock is released.

  --wait DURATION    give up after this time (default: wait for ever)
  --no-wait          give up at once if somebody else holds it
  --ttl DURATION     how long the lock outlives a machine that dies; renewed every third of it (default 30s)
  --fair             first come, first served, over all processes
  --shared           together with others that say --shared
  --permits N --of M  take N of M permits together instead of the lock alone
  --grace DURATION   between SIGTERM and SIGKILL (default 5s)
  --store URL        the store to use

A DURATION is 250ms, 10s, 5m or 2h. CMD finds HOLDFAST_NAME and HOLDFAST_TOKEN, the fencing token, in its environment.
SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are passed on to CMD; while still waiting they end the wait.

Exit codes: that of CMD, or 128+n if signal n ended it; 75 not obtained in time; 69 the store cannot be reached or
refuses; 76 the lock was lost while CMD ran (it gets SIGTERM, then SIGKILL after --grace); 64 usage; 127 CMD not found;
126 CMD cannot be run; 128+n if signal n ended the wait.
)";

void set_hold(run_request& request, const arguments& args) {
  const auto permits = args.count("--permits");
  const auto limit = args.count("--of");
  if (permits.has_value() != limit.has_value()) {
    throw usage_error(std::string(permits ? "--permits needs --of M" : "--of needs --permits N") +
                      ": how many, and how many there are");
  }
  if (permits && args.has("--shared")) throw usage_error("--shared and --permits exclude each other");
  if (args.has("--shared")) request.as = run_request::hold::shared;
  if (!permits) return;
  if (*permits > *limit) {
    throw usage_error("--permits " + std::to_string(*permits) + " is more than there are: --of " +
                      std::to_string(*limit));
  }
  request.as = run_request::hold::permits;
  request.permits = *permits;
  request.limit = *limit;
}

void set_times(run_request& request, const arguments& args) {
  if (args.has("--wait") && args.has("--no-wait")) throw usage_error("--wait and --no-wait exclude each other");
  if (const auto wait = args.duration("--wait")) request.wait = *wait;
  if (args.has("--no-wait")) request.wait = 0ns;
  if (const auto grace = args.duration("--grace")) request.grace = *grace;
  if (const auto ttl = args.duration("--ttl")) {
    if (*ttl < 10ms || *ttl > 24h * 30) throw usage_error("--ttl must be from 10ms to 720h (30 days)");
    request.ttl = *ttl;
  }
}

int run(const invocation& call) {
  run_request request;
  if (call.store) request.store = *call.store;
  request.name = *call.args.operand(0);
  if (call.args.has("--fair")) request.order = ordering::fifo;
  set_hold(request, call.args);
  set_times(request, call.args);
  const auto words = call.args.command();
  request.command.assign(words.begin(), words.end());
  request.command.push_back(nullptr);
  return supervise(request);
}

}  // namespace

constinit const subcommand run_command{
    .grammar = {"run", flags, operands, true},
    .summary = "run a command while holding a lock",
    .help = help_text,
    .run = run,
};

}  // namespace holdfast::cli
