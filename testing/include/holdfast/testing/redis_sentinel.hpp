#pragma once

#include <holdfast/testing/redis_server.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {

/// A master with two replicas, and three sentinels that watch over it: a master that is silent for half a second is
/// replaced.
///
/// Thread safety: one thread at a time.
class redis_sentinel {
 public:
  struct extras {
    std::vector<std::string> of_servers;    ///< Further words of their command lines.
    std::vector<std::string> of_sentinels;  ///< Further lines of their configurations.
    std::string scheme_options;             ///< Of url().
  };

  /// Ready when every sentinel knows all the others and both replicas. Throws std::runtime_error if they do not start.
  redis_sentinel() : redis_sentinel(extras()) {}
  explicit redis_sentinel(extras more);

  static constexpr const char* name = "mymaster";

  /// Of all the sentinels, or of one of them.
  std::string url(unsigned database = 0) const;
  std::string url_of(std::size_t sentinel) const;

  redis_server& server(std::size_t index) { return *servers_.at(index); }
  redis_server& sentinel(std::size_t index) { return *sentinels_.at(index); }

  /// The index of the server that most sentinels call the master.
  std::size_t master() const;
  /// Waits until the master is another than `before`, and says it is one.
  bool replaced(std::size_t before) const;

 private:
  bool ready() const;

  const extras more_;
  std::vector<std::unique_ptr<redis_server>> servers_;
  std::vector<std::unique_ptr<redis_server>> sentinels_;
};

}  // namespace holdfast::testing
