#pragma once

#include "descriptor.hpp"
#include "greeting.hpp"
#include "reply.hpp"
#include "settings.hpp"

#include <holdfast/result.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::memcached {

/// A connection that was made and greeted, for questions one by one. Its socket does not block; the questions do.
///
/// Thread safety: one thread at a time.
class conversation {
 public:
  /// Fails as greeting does.
  static result<conversation> open(const address& with, const settings& as, steady::time_point deadline);

  /// Says `commands` and waits for so many answers.
  result<std::vector<reply>> ask(std::string_view commands, std::size_t answers, steady::time_point deadline);

  std::uint64_t era() const noexcept { return era_; }

 private:
  conversation(std::string peer, greeting made) : peer_(std::move(peer)), fd_(made.take_socket()), era_(made.era()) {}

  std::string peer_;
  descriptor fd_;
  std::uint64_t era_;
  reply_reader reader_;
};

/// Takes a greeting to its end. Blocks.
result<void> complete(greeting& under_way);

}  // namespace holdfast::memcached
