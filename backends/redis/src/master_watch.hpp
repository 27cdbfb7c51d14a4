#pragma once

#include "ears.hpp"
#include "settings.hpp"

#include <holdfast/backend.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast::redis {

/// Listens at one of the sentinels, at another if that one goes, for the word that the master has changed: a master
/// that was cut off, or stands still, is left at once although its connections are there.
///
/// Thread safety: safe. The callback comes with nothing locked, on the reactor thread.
class master_watch : public std::enable_shared_from_this<master_watch> {
 public:
  /// `master_is` gets host:port, also where it was so before.
  master_watch(settings where, spi::runtime& engine, std::function<void(const std::string&)> master_is);

  void start();

 private:
  void on_message(std::string_view text);
  void look();  // what was said before, or while nobody listened

  const settings where_;
  spi::runtime& engine_;
  const std::function<void(const std::string&)> master_is_;
  const std::shared_ptr<ears> ears_;
};

}  // namespace holdfast::redis
