#include "keeper.hpp"

#include "../exit_code.hpp"
#include "../output.hpp"
#include "../report.hpp"
#include "obtain.hpp"
#include "watched_command.hpp"

#include <holdfast/client.hpp>

#include <malloc.h>
#include <poll.h>
#include <sys/prctl.h>

#include <string_view>

namespace holdfast::cli {
namespace {

client open(const run_request& request) {
  client_options options;
  options.ttl = request.ttl;
  // What `holdfast ls` shows beside host and pid: the command says more than "holdfast". Its arguments may be secret.
  const std::string_view path = request.command.front();
  options.name = path.substr(path.rfind('/') + 1);
  return request.store ? connect(*request.store, std::move(options)) : connect(std::move(options));
}

/// A job that was stopped while it waited must not start running behind its user's back: the command is started when
/// the job goes on. The lock is held and renewed meanwhile, as for a command that is stopped later.
std::optional<cancelled> wait_while_stopped(inbox& orders) {
  for (;;) {
    if (auto ended = look_for_cancellation(orders)) return ended;
    if (!pending_stop()) return std::nullopt;
    pollfd waits[]{{orders.signal_fd(), POLLIN, 0}, {orders.supervisor_fd(), POLLIN, 0}};
    ::poll(waits, 2, -1);
  }
}

int keep_lock(const run_request& request, const inherited_signals& before, ledger& book, inbox& orders) {
  const client store = open(request);
  if (!book.end_connecting(phase::waiting)) return exit_code::failed;
  auto obtained = obtain(store, request, orders);
  if (const auto* ended = std::get_if<cancelled>(&obtained)) return ended->exit_code;
  lease held = std::get<lease>(std::move(obtained));
  if (const auto ended = wait_while_stopped(orders)) return ended->exit_code;
  return watched_command(request, std::move(held), book, orders).run(before);
}

}  // namespace

int keep(const run_request& request, const inherited_signals& before, ledger& book, channel supervisor) {
  return answer_errors([&] {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    // Not the supervisor's name, so that `pkill -KILL holdfast` does not end both at once.
    ::prctl(PR_SET_NAME, "lock-keeper");
    // The library's few threads allocate little; a heap for each of them would cost more at start than it ever saves.
    ::mallopt(M_ARENA_MAX, 1);
    inbox orders(std::move(supervisor), listen_as_keeper(before));
    return keep_lock(request, before, book, orders);
  });
}

}  // namespace holdfast::cli
