#pragma once

#include "descriptor.hpp"
#include "directory.hpp"

#include <holdfast/backend.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace holdfast::file {

/// Calls back when something may have changed in the directory: at once for grants and for holders that die, within a
/// quarter of a second for the rest (a release that nobody waits for writes nothing).
///
/// Thread safety: safe.
class observation : public std::enable_shared_from_this<observation> {
 public:
  static std::shared_ptr<observation> start(spi::runtime& engine, const directory& where, std::string prefix,
                                            std::function<void()> changed);
  /// No call starts after this returns.
  void end() noexcept;

  observation(spi::runtime& engine, std::string prefix, std::function<void()> changed);

 private:
  void on_events();
  bool concerns(const char* file_name) const;
  void look_later();
  void call();

  spi::runtime& engine_;
  const std::string prefix_;
  const std::function<void()> changed_;
  descriptor inotify_;
  std::recursive_mutex mutex_;  // a callback may end its own observation
  bool ended_ = false;
  spi::runtime::timer timer_ = 0;
};

}  // namespace holdfast::file
