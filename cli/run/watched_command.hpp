#pragma once

#include "inbox.hpp"
#include "job_mirror.hpp"
#include "ledger.hpp"
#include "process_tree.hpp"
#include "request.hpp"

#include <holdfast/lease.hpp>

#include <optional>

namespace holdfast::cli {

/// The command and everything it started, from its start under a lease to the release of that lease.
class watched_command {
 public:
  watched_command(const run_request& request, lease held, ledger& book, inbox& orders);

  /// Starts the command and comes back, with the exit code for all of it, when nothing of it is left.
  int run(const inherited_signals& before);

 private:
  enum class verdict { goes_on, exited, orphaned };

  bool is_lost() const { return held_.lost().stop_requested(); }
  void start(const inherited_signals& before);
  int watch(int loss_fd);
  verdict follow_orders();
  void pass_on(const order& signal);
  void look_at_children();
  void publish();

  int end_lost();
  int end_exited();
  int end_orphaned();
  void end_rest();
  int release(int code);

  const run_request& request_;
  lease held_;
  ledger& book_;
  inbox& orders_;
  const process_tree tree_;
  job_mirror job_;

  pid_t command_ = 0;
  std::optional<int> status_;  ///< The command's, as wait gave it.
};

}  // namespace holdfast::cli
