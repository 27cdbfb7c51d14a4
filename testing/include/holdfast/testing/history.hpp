#pragma once

#include <holdfast/lease_clock.hpp>
#include <holdfast/token.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::testing {

/// One thing somebody saw of a lock, on the boot-time clock that all processes of the machine share.
struct occurrence {
  enum class kind : char {
    granted = 'g',   ///< Stamped after the grant was seen.
    valid = 'v',     ///< Stamped before a look that found the lease valid.
    released = 'r',  ///< Stamped before the release was asked for.
  };
  kind what = kind::granted;
  std::int64_t at = 0;  ///< Nanoseconds of lease_clock.
  std::uint64_t token = 0;
  std::int64_t pid = 0;
};

/// Writes occurrences of one lock to a file that many processes append to: one line each, in one write, so that none is
/// torn and a killed process loses nothing it had seen. Thread safety: safe.
class history_writer {
 public:
  explicit history_writer(const std::filesystem::path& file);
  history_writer(const history_writer&) = delete;
  history_writer& operator=(const history_writer&) = delete;
  ~history_writer();

  void granted(fencing_token token) { add(occurrence::kind::granted, token, lease_clock::now()); }
  /// Take the stamp before looking at the lease.
  void valid(fencing_token token, lease_clock::time_point before) { add(occurrence::kind::valid, token, before); }
  void released(fencing_token token) { add(occurrence::kind::released, token, lease_clock::now()); }

 private:
  void add(occurrence::kind what, fencing_token token, lease_clock::time_point at) const;

  int file_;
};

/// What was recorded. Throws std::runtime_error on a torn line.
std::vector<occurrence> read_history(const std::filesystem::path& file);

/// The first contradiction to mutual exclusion, told in a sentence; nullopt if there is none: no two holds overlap, no
/// token is granted twice, tokens increase in the order of the grants.
///
/// A hold lasts from its `granted` to the last thing its holder saw of it. Both lie inside the true hold, so whatever
/// overlaps here overlapped in truth.
std::optional<std::string> contradiction(const std::vector<occurrence>& history);

/// How many grants there were.
std::size_t grants(const std::vector<occurrence>& history);

}  // namespace holdfast::testing
