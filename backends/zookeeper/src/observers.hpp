#pragma once

#include "session.hpp"

#include <holdfast/backend.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace holdfast::zookeeper {

/// Who wants to hear of changes. The nodes a prefix leads to are watched, each by a watch of its own: the client
/// library has none for a whole tree.
///
/// Thread safety: safe. Callbacks run with nothing locked.
class observers {
 public:
  explicit observers(session& store) : store_(store) {}

  std::function<void()> add(const std::string& prefix, std::function<void()> changed);
  void on_change(change what, const std::string& path);
  /// Something may have been missed.
  void look_everywhere();

 private:
  struct observer {
    std::string prefix;
    std::function<void()> changed;
    std::set<std::string> watched;
    // Recursive: a callback may end its own observation.
    std::recursive_mutex calling;
    bool ended = false;
  };
  using observer_ptr = std::shared_ptr<observer>;

  void visit(const observer_ptr& who, const std::string& path);
  static void tell(observer& who);

  session& store_;
  std::mutex mutex_;  // guards all_ and what is watched
  std::vector<observer_ptr> all_;
};

}  // namespace holdfast::zookeeper
