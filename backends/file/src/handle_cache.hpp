#pragma once

#include "lock_file.hpp"

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace holdfast::file {

/// Lock files that were left a moment ago, kept open for the next claim on their name: opening one costs as much as
/// locking it.
///
/// Thread safety: safe.
class handle_cache {
 public:
  /// Null: there is none.
  std::unique_ptr<lock_file> take(const std::string& name);
  void put(std::unique_ptr<lock_file> left);

 private:
  static constexpr std::size_t most = 64;

  std::mutex mutex_;
  std::list<std::unique_ptr<lock_file>> idle_;  // the latest first
  std::unordered_multimap<std::string, std::list<std::unique_ptr<lock_file>>::iterator> by_name_;
};

}  // namespace holdfast::file
