#pragma once

#include <memory>

namespace holdfast::etcd {

/// What gRPC needs of the process around it.
///
/// A process that has used it may fork, but the child cannot use it: its poller is the parent's, and what the child
/// does there happens to the parent. (gRPC's own remedy, GRPC_ENABLE_FORK_SUPPORT, was tried: now and then the child
/// hangs, or the parent does.) And when the process exits, nobody may be inside while gRPC's static objects go.
///
/// Thread safety: safe.
class process_guard {
 public:
  /// A thread that can be asked to step out of gRPC, for good.
  class loop {
   public:
    virtual ~loop() = default;
    virtual void step_out() = 0;  ///< Returns when it is outside, or after a second.
  };

  static void add(loop* one);
  static void remove(loop* one);

  /// Around a call that blocks inside gRPC: an exit waits for it a little.
  class inside {
   public:
    inside();
    inside(const inside&) = delete;
    inside& operator=(const inside&) = delete;
    ~inside();
  };

  /// False in the child of a process that has used gRPC.
  static bool usable();

  /// exit() was called, and every loop has stepped out: gRPC must not be touched any more. A client that outlives this
  /// (a global that was connected late) ends without.
  static bool ending();
  /// What cannot be destroyed at the end of the process stays.
  static void keep(std::shared_ptr<void> what);
};

}  // namespace holdfast::etcd
