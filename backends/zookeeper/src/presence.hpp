#pragma once

namespace holdfast::zookeeper {

/// That this process uses ZooKeeper's client library.
///
/// The library's threads look up host names again and again, under a lock of the C library's that nobody gives back in
/// a child forked meanwhile: the child's own look-up would wait for ever. So whoever is forked from a process that is
/// present must not begin.
///
/// Thread safety: safe.
class presence {
 public:
  /// False: this process was forked from one that was present.
  static bool possible() noexcept;

  presence() noexcept;
  presence(const presence&) = delete;
  presence& operator=(const presence&) = delete;
  ~presence();
};

}  // namespace holdfast::zookeeper
