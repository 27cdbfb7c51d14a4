#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::redis {

/// The sentinels one may ask: those of the URL and those they told of, whoever answered last first.
///
/// Thread safety: safe.
class sentinel_list {
 public:
  struct address {
    std::string host;
    std::string port;
    friend bool operator==(const address&, const address&) = default;
  };

  explicit sentinel_list(std::vector<address> named) : named_(named.size()), all_(std::move(named)) {}

  std::vector<address> all() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }

  void answered(const address& who) {
    move(who, [this](auto at) { std::rotate(all_.begin(), at, at + 1); });
  }
  void silent(const address& who) {
    move(who, [this](auto at) { std::rotate(at, at + 1, all_.end()); });
  }

  /// Others that one of them told of. Not for ever more: where sentinels come and go, those that are gone would pile
  /// up.
  void learn(const std::vector<address>& others) {
    const std::lock_guard lock(mutex_);
    for (const address& one : others) {
      if (all_.size() < named_ + 16 && std::find(all_.begin(), all_.end(), one) == all_.end()) all_.push_back(one);
    }
  }

 private:
  template <class Move>
  void move(const address& who, Move where) {
    const std::lock_guard lock(mutex_);
    if (const auto at = std::find(all_.begin(), all_.end(), who); at != all_.end()) where(at);
  }

  const std::size_t named_;
  mutable std::mutex mutex_;
  std::vector<address> all_;
};

}  // namespace holdfast::redis
