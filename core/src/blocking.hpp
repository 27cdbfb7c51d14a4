#pragma once

#include "parker.hpp"

#include <holdfast/result.hpp>

#include <optional>

namespace holdfast::detail {

/// Calls `start(completion)` and waits for the completion on this thread: the blocking face of every asynchronous call.
template <class T, class Start>
result<T> wait_for(Start&& start) {
  struct {
    parker done;
    std::optional<result<T>> answer;
  } here;
  start([&here](result<T> answer) {
    here.answer.emplace(std::move(answer));
    here.done.set();
  });
  here.done.wait();
  return std::move(*here.answer);
}

}  // namespace holdfast::detail
