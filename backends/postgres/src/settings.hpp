#pragma once

#include "layout.hpp"

#include <holdfast/result.hpp>
#include <holdfast/uri.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::postgres {

/// Where the store is and how to get there: what libpq is told, word by word, and what is ours.
struct settings {
  std::vector<std::pair<std::string, std::string>> parameters;  ///< Of libpq; the password may be among them.
  sql::layout tables{.schema = "holdfast"};
  std::chrono::microseconds at_least{0};  ///< ShedLock's table: for how long a lock is kept at least.

  bool several_hosts() const;
  /// The same for each host alone, if there are several: libpq itself goes on to the next only when one refuses, and
  /// waits for ever for one that does not answer.
  std::vector<settings> each_host() const;
  std::string shown() const { return shown_; }  ///< Hosts and database, never a secret.

  /// errc::invalid_argument or errc::unsupported, naming the part that is wrong.
  static result<settings> from(uri where);

  std::string shown_;
  /// Which of each_host() was good last; of all copies.
  std::shared_ptr<std::atomic<std::size_t>> last_good = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace holdfast::postgres
