#pragma once

#include <holdfast/export.hpp>
#include <holdfast/lease.hpp>

#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace holdfast::detail {

/// The leases behind a std face, where lock() and unlock() pass none around.
///
/// Keyed by thread: when one thread's lease was lost and another thread of the same object has locked since, the first
/// one's unlock() must not end the second one's hold.
class HOLDFAST_EXPORT held_leases {
 public:
  void put(lease held);
  /// The calling thread's latest lease; else, ownership being the object's, one that another thread took.
  std::optional<lease> take() noexcept;

 private:
  struct slot {
    std::thread::id thread;
    lease held;
  };
  std::mutex mutex_;
  std::vector<slot> slots_;
};

}  // namespace holdfast::detail
