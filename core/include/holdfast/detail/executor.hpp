#pragma once

#include <holdfast/detail/function.hpp>

namespace holdfast::detail {

/// Runs tasks on threads of its own, in any order. Thread safety: safe.
class executor {
 public:
  virtual ~executor() = default;
  virtual void post(unique_function<void()> task) = 0;
  /// Runs what is queued, takes nothing more, and returns when all is done. Not from one of its own tasks.
  virtual void shut_down() {}
};

}  // namespace holdfast::detail
