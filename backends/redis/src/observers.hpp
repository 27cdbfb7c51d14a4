#pragma once

#include <holdfast/backend.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace holdfast::redis {

/// Those who want to hear of changes. What the server does by itself (a ttl that ends) and what foreign clients do is
/// told by nobody: for that they look every few seconds.
///
/// Thread safety: safe. Callbacks come with nothing locked.
class observers : public std::enable_shared_from_this<observers> {
 public:
  explicit observers(spi::runtime& engine) : engine_(engine) {}

  std::uint64_t add(std::string prefix, std::function<void()> changed);
  void remove(std::uint64_t id);
  bool any() const;

  void tell(std::string_view name);
  void tell_all();

 private:
  struct observer {
    std::string prefix;
    std::function<void()> changed;
  };

  void look_later();  // with mutex_ held
  void on_time();

  spi::runtime& engine_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, observer> all_;
  std::uint64_t last_ = 0;
  bool timer_ = false;
};

}  // namespace holdfast::redis
