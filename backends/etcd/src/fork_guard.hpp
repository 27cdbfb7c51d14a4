#pragma once

#include <condition_variable>
#include <mutex>

namespace holdfast::etcd {

/// Lets a process fork although it uses gRPC. gRPC can be used again in the child only if nobody was inside it when the
/// process forked; so the library's threads step out for that moment, and gRPC's own handlers are called. They step out
/// for good when the process exits: gRPC's static objects go then.
///
/// Thread safety: safe.
class fork_guard {
 public:
  /// A thread that can be asked to step out of gRPC and wait.
  class loop {
   public:
    virtual ~loop() = default;
    virtual bool step_out() = 0;  ///< False: it does not come out.
    virtual void go_on() = 0;
  };

  static void add(loop* one);
  static void remove(loop* one);

  /// Around a call that blocks inside gRPC: a fork meanwhile leaves the child without it, and an exit waits a little.
  class inside {
   public:
    inside();
    inside(const inside&) = delete;
    inside& operator=(const inside&) = delete;
    ~inside();
  };

  /// False in a child that was forked while somebody was inside.
  static bool usable();
};

}  // namespace holdfast::etcd
