#include "inbox.hpp"

namespace holdfast::cli {

std::optional<order> inbox::next() {
  // Own signals first: of a signal to the whole process group, ours is the copy that is known to be early enough.
  if (const auto signal = next_signal(signals_)) {
    const int number = static_cast<int>(signal->ssi_signo);
    if (number == SIGCHLD) return order{.what = order::kind::child};
    if (number != SIGCONT) return order{.what = order::kind::signal, .signal = number};
    return next();
  }
  return next_of_supervisor();
}

void inbox::drop_signals() {
  while (next_signal(signals_)) {
  }
}

std::optional<order> inbox::next_of_supervisor() {
  if (const auto text = supervisor_.receive()) {
    if (text->what == message::kind::resumed) return order{.what = order::kind::resumed};
    return order{.what = order::kind::signal, .signal = text->signal, .from = text->from};
  }
  if (supervisor_.other_end_gone() && !told_gone_) {
    told_gone_ = true;
    return order{.what = order::kind::supervisor_gone};
  }
  return std::nullopt;
}

}  // namespace holdfast::cli
