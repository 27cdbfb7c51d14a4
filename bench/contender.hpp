#pragma once

#include "workload.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::bench {

/// One worker's end of the lock that is measured, ours or the floor's. Used by one thread.
class contender {
 public:
  virtual ~contender() = default;

  /// Waits for the lock. The fencing token, or 0 where the lock has none.
  virtual std::uint64_t acquire() = 0;
  virtual void release() = 0;
  /// `count` times acquire and release, as a loop of the implementation's own: without a virtual call in between.
  virtual void pairs(std::uint64_t count) = 0;
};

/// What a contender is wanted for.
struct assignment {
  workload what = workload::uncontended;
  std::string lock;  ///< Contenders that name the same lock exclude each other.
};

/// A way to lock things: a client of ours, or a raw client. Belongs to the process that made it; enlist() is called
/// once by each of its workers, concurrently. Failures are exceptions.
class subject {
 public:
  virtual ~subject() = default;
  virtual std::unique_ptr<contender> enlist(const assignment& what) = 0;
};

}  // namespace holdfast::bench
