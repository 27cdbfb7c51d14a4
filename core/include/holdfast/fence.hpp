#pragma once

#include <holdfast/client.hpp>
#include <holdfast/token.hpp>

#include <string>

namespace holdfast {

/// Remembers the newest fencing token it admitted and turns older ones away: what a protected resource does with
/// tokens.
///
/// The state lives in the store and outlives everybody. One fence per lock name: tokens of different locks do not
/// compare.
///
/// Thread safety: safe. Blocks on: the store.
class HOLDFAST_EXPORT fence {
 public:
  fence(client c, std::string name);

  /// False for a token older than the newest admitted; an equal one is admitted again.
  [[nodiscard]] bool admit(fencing_token token);
  fencing_token newest() const;  ///< 0 before the first.

  const std::string& name() const noexcept { return name_; }

 private:
  client client_;
  std::string name_;
};

}  // namespace holdfast
