#pragma once

#include "channel.hpp"
#include "signals.hpp"

#include <optional>

namespace holdfast::cli {

/// One thing that reached the keeper from outside.
struct order {
  enum class kind {
    signal,           ///< `signal` is meant for the command.
    resumed,          ///< The supervisor was continued.
    child,            ///< A child ended, stopped or went on.
    supervisor_gone,  ///< Said once.
  };
  kind what = kind::signal;
  int signal = 0;
  message::origin from = message::origin::process;  ///< terminal: a command that runs already has the signal.
};

/// All the keeper hears: what its supervisor passes on, and its own signals.
class inbox {
 public:
  inbox(channel supervisor, unique_fd signals) : supervisor_(std::move(supervisor)), signals_(std::move(signals)) {}

  int supervisor_fd() const noexcept { return supervisor_.fd(); }
  int signal_fd() const noexcept { return signals_.get(); }
  std::optional<order> next();  ///< Does not block.
  void drop_signals();          ///< Forgets those of our own that have come.

 private:
  std::optional<order> next_of_supervisor();

  channel supervisor_;
  unique_fd signals_;
  bool told_gone_ = false;
};

}  // namespace holdfast::cli
