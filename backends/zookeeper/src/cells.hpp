#pragma once

#include "session.hpp"

#include <holdfast/backend.hpp>

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::zookeeper {

/// Values with versions: a node each, whose data version is the cell's, less one. A server takes no more than a
/// mebibyte at a time, names and all: what is longer than half of that is kept in parts beside it, written before the
/// node that names them and removed after it names others.
///
/// Thread safety: safe.
class cells {
 public:
  explicit cells(session& store) : store_(store) {}

  void load(const std::string& name, spi::completion<spi::cell_value> done);
  void exchange(const std::string& name, std::uint64_t expected, std::string value, spi::owner_id id,
                spi::completion<bool> done);

 private:
  struct writing;
  using writing_ptr = std::shared_ptr<writing>;

  void load_parts(const std::string& name, const std::string& id, std::size_t count, std::uint64_t version,
                  spi::completion<spi::cell_value> done);
  void look(const writing_ptr& w);
  void write_parts(const writing_ptr& w, std::size_t next);
  void judge(const writing_ptr& w, std::string_view writer);
  bool doubtful(const std::string& id);
  void remember(const std::string& id);
  void commit(const writing_ptr& w);
  void settle(const writing_ptr& w, result<bool> outcome);
  void remove_parts(const std::string& id, std::size_t count);
  std::string part_path(const std::string& id, std::size_t which) const;

  session& store_;
  std::mutex mutex_;  // guards what follows
  std::deque<std::string> unanswered_;
};

}  // namespace holdfast::zookeeper
