#pragma once

#include <holdfast/client.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace holdfast {

/// A value with a version in the store: the optimistic lock. Nobody waits; who comes late tries again.
///
/// Thread safety: safe. Blocks on: the store.
class HOLDFAST_EXPORT cell {
 public:
  struct snapshot {
    std::string value;          ///< Empty when new. Any bytes, up to 1 MiB.
    std::uint64_t version = 0;  ///< 0 when new; only grows, also when a value comes back (no ABA).
  };

  cell(client c, std::string name);

  snapshot load() const;
  /// Writes `value` if the version is still `version`; false: somebody else wrote meanwhile.
  [[nodiscard]] bool compare_exchange(std::uint64_t version, std::string value);
  /// Applies `change` to the newest value and writes it, again and again until nobody came between; the value it wrote.
  /// `change` must be free of side effects. What it throws comes out of here, and nothing is written.
  std::string update(const std::function<std::string(const std::string&)>& change);

  const std::string& name() const noexcept { return name_; }

 private:
  client client_;
  std::string name_;
};

}  // namespace holdfast
