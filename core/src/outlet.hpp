#pragma once

#include <holdfast/options.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>

namespace holdfast::detail {

/// Through which a client speaks to its user unasked: the log, events, watches. The engine may outlive what the user
/// has of it, for an answer that is still on its way; what these callbacks refer to need not.
///
/// Thread safety: safe, and without a mutex that a forked child could find locked.
class outlet {
 public:
  explicit outlet(std::function<void(log_level, std::string_view)> log);

  bool logs() const noexcept { return static_cast<bool>(log_); }
  void log(log_level level, std::string_view line) noexcept;

  /// Calls `what`, unless this is shut.
  template <class F>
  void say(F&& what) {
    const turn mine(*this);
    if (!shut_) what();
  }

  /// Nothing is said any more. Waits for what is being said, but not for the one who calls this while saying it.
  void shut() noexcept;

 private:
  class turn {
   public:
    explicit turn(outlet& of) noexcept;
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn();
    static int of_this_thread(const outlet& of) noexcept;

   private:
    outlet& of_;
    const turn* const outer_;
  };

  const std::function<void(log_level, std::string_view)> log_;
  const std::uint64_t generation_;
  std::atomic<bool> shut_{false};
  std::atomic<int> turns_{0};
};

}  // namespace holdfast::detail
