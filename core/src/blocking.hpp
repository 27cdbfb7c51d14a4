#pragma once

#include "parker.hpp"

#include <holdfast/result.hpp>

#include <optional>
#include <type_traits>

namespace holdfast::detail {

/// Calls `start(completion)` and waits for the completion on this thread: the blocking face of every asynchronous call.
/// A `start(completion, parker&)` may look at the parker until it has called the completion.
template <class T, class Start>
result<T> wait_for(Start&& start) {
  struct {
    parker done;
    std::optional<result<T>> answer;
  } here;
  auto done = [&here](result<T> answer) {
    here.answer.emplace(std::move(answer));
    here.done.set();
  };
  if constexpr (std::is_invocable_v<Start, decltype(done), parker&>)
    start(std::move(done), here.done);
  else
    start(std::move(done));
  here.done.wait();
  return std::move(*here.answer);
}

}  // namespace holdfast::detail
