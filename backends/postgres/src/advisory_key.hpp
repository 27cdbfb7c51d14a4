#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::postgres {

/// What an advisory lock is known by: one number of 64 bits, or a pair of 32, which the server keeps apart.
struct advisory_key {
  enum class form : std::int64_t { number = 1, pair = 2 };
  form is = form::number;
  std::int64_t high = 0;  ///< The number, or the first of the pair.
  std::int64_t low = 0;

  std::string text() const;
  friend bool operator==(const advisory_key&, const advisory_key&) = default;
};

/// The key of a name as DistributedLock for .NET makes it (with hashing allowed), so that the two contend. In this
/// order: up to 9 characters of ASCII: a pair, 7 bits for each, a zero and ones; 16 hex digits: that number; 8, a comma
/// and 8: that pair; anything else: the first 8 bytes of its SHA-1, the lowest first.
advisory_key key_of(std::string_view name);

/// 20 bytes.
std::string sha1(std::string_view text);

}  // namespace holdfast::postgres
