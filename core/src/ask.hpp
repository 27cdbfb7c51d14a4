#pragma once

#include "back_off.hpp"
#include "blocking.hpp"
#include "engine.hpp"

#include <thread>

namespace holdfast::detail {

/// Throws errc::unsupported in a forked child.
inline void require_own_process(const engine& e, const char* operation, const std::string& name) {
  if (!e.in_own_process())
    throw error({errc::unsupported, "this client was made before fork(); connect again in the child"}, operation, name);
}

/// One question to the store on this thread, sent again while it goes unanswered, up to request_timeout. The question
/// must be safe to send twice (it carries an id). Throws holdfast::error.
template <class T, class Ask>
T ask(engine& e, const char* operation, const std::string& name, Ask&& question) {
  require_own_process(e, operation, name);
  const auto give_up = e.now() + e.options().request_timeout;
  for (unsigned failures = 0;; ++failures) {
    auto answer = wait_for<T>(question);
    if (answer) return std::move(*answer);
    const auto pause = back_off(failures);
    if (answer.error().code != errc::unavailable || e.now() + pause >= give_up)
      throw error(std::move(answer.error()), operation, name);
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace holdfast::detail
