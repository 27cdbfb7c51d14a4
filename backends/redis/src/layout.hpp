#pragma once

#include "script.hpp"
#include "settings.hpp"

#include <holdfast/backend.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis {

/// How locks stand in the store: as Redisson's, or each as one key that is set if it is not there (`?layout=plain`).
class layout {
 public:
  explicit layout(const settings& where);

  spi::capabilities supports() const noexcept;
  const scripts& run() const noexcept { return scripts_; }

  /// What the scripts call KEYS; see script_text.hpp.
  std::vector<std::string> keys(const std::string& name) const;
  /// The lock, and what is known of its holder: what ends without renewal.
  std::vector<std::string> renewed_keys(const std::string& name) const;
  /// The name of the lock at this key; nullopt: none has it.
  std::optional<std::string> name_of(std::string_view lock_key) const;

  /// Keys to look for, and what they tell.
  struct trail {
    std::string pattern;
    std::string type;  ///< As SCAN spells it; empty: any.
    std::optional<std::string> (*lock_key)(std::string_view key);
  };
  std::vector<trail> trails(const std::string& prefix) const;

  /// Do clients that are not ours publish what they release? If not, it is looked at often.
  bool others_publish() const noexcept { return kind_ == key_layout::redisson; }

 private:
  const key_layout kind_;
  const std::string prefix_;
  const bool in_cluster_;
  const scripts& scripts_;
};

}  // namespace holdfast::redis
