#pragma once

#include "engine.hpp"

#include <atomic>
#include <condition_variable>
#include <map>

namespace holdfast::detail {

/// One client::watch: looks whenever the store says something may have changed, and tells the differences.
struct subscription_state : std::enable_shared_from_this<subscription_state> {
  subscription_state(const std::shared_ptr<engine>& e, std::string prefix, std::function<void(const change&)> callback);

  void begin();
  void cancel();
  bool cancelled() const {
    std::lock_guard lock(mutex_);
    return cancelled_;
  }

 private:
  using key = std::pair<std::string, std::string>;  // name, owner
  struct seen {
    std::string kind;
    participant who;
    bool holds = false;
  };
  using picture = std::map<key, seen>;

  void changed();
  void look();
  void tell(const picture& before, const picture& after);
  void say(change::kind what, const key& k, const seen& s);

  const std::weak_ptr<engine> engine_;
  const std::string prefix_;
  const std::function<void(const change&)> callback_;
  const std::shared_ptr<outlet> outlet_;
  const std::shared_ptr<strand> events_;
  std::atomic<bool> look_owed_{false};
  picture picture_;  // the strand's

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::function<void()> stop_;
  bool cancelled_ = false;
  std::optional<std::thread::id> calling_;
};

}  // namespace holdfast::detail
