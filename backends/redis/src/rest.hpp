#pragma once

#include <atomic>
#include <semaphore>

namespace holdfast::redis {

/// A thread's wait for something to be said to it; see hearing. Shared with whoever may end it.
struct rest {
  std::atomic<bool> over = false;
  std::counting_semaphore<> bell{0};  ///< It is over, or there is something to do for the thread.
};

}  // namespace holdfast::redis
