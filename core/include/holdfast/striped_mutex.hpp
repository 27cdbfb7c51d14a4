#pragma once

#include <holdfast/mutex.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace holdfast {

/// `n` mutexes that divide one hot name: keys that fall on different stripes do not wait for each other.
///
/// Stripe i is the mutex `name#i`. A key always falls on the same stripe, in every process and build, for one n: all
/// users must agree on n.
///
/// Thread safety: safe. Blocks on: the store.
class HOLDFAST_EXPORT striped_mutex {
 public:
  /// Throws holdfast::error: invalid_argument (the name; n = 0 or above 65,536).
  striped_mutex(client c, std::string name, std::uint32_t n, lock_options options = {});

  /// The mutex of the key's stripe; lives as long as this.
  mutex& for_key(std::string_view key);
  template <std::integral Key>
  mutex& for_key(Key key) {
    return for_key(std::to_string(key));
  }

  /// Any stripe that is free, or the first to come free.
  [[nodiscard]] lease acquire_any(acquire_options options = {}, std::stop_token stop = {});

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(stripes_.size()); }
  mutex& stripe(std::uint32_t index) { return *stripes_.at(index); }

 private:
  std::vector<std::unique_ptr<mutex>> stripes_;
};

}  // namespace holdfast
