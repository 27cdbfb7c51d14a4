#pragma once

#include <holdfast/backend.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace holdfast::sql {

/// Those who want to hear of changes. Nobody tells them: to notify at every change would cost every lock far more than
/// it costs those who watch to look a few times a second.
///
/// Thread safety: safe. Callbacks come with nothing locked.
class observers : public std::enable_shared_from_this<observers> {
 public:
  explicit observers(spi::runtime& engine) : engine_(engine) {}

  std::uint64_t add(std::function<void()> changed);
  void remove(std::uint64_t id);

 private:
  void look_later();  // with mutex_ held
  void on_time();

  spi::runtime& engine_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::function<void()>> all_;
  std::uint64_t last_ = 0;
  bool timer_ = false;
};

}  // namespace holdfast::sql
