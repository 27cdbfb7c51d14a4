#pragma once

#include "session.hpp"

#include <holdfast/backend.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::zookeeper {

/// Walks the nodes below the root that a prefix leads to, and tells who is in the lines.
///
/// Thread safety: safe; each walk keeps its own.
class inspection {
 public:
  explicit inspection(session& store) : store_(store) {}

  void inspect(const std::string& prefix, spi::completion<std::vector<entry>> done);
  /// Removes the nodes of whoever holds `name`.
  void evict(const std::string& name, spi::completion<bool> done);

 private:
  struct walk;
  using walk_ptr = std::shared_ptr<walk>;

  void visit(const walk_ptr& w, const std::string& path);
  void describe(const walk_ptr& w, const std::string& path, const std::vector<std::string>& names);
  void describe_permits(const walk_ptr& w, const std::string& path);
  enum class standing : std::uint8_t { holds, waits };
  void add(const walk_ptr& w, std::size_t which, standing how, const std::string& node);

  session& store_;
};

/// Might a name at `path`, or below it, start with `prefix`?
bool leads_to(const std::string& root, const std::string& path, const std::string& prefix);
/// Is it one of the nodes below the very root that are no locks?
bool is_reserved(const std::string& root, const std::string& parent, const std::string& child);

}  // namespace holdfast::zookeeper
