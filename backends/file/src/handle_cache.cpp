#include "handle_cache.hpp"

namespace holdfast::file {

std::unique_ptr<lock_file> handle_cache::take(const std::string& name) {
  std::lock_guard lock(mutex_);
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return nullptr;
  auto handle = std::move(*found->second);
  idle_.erase(found->second);
  by_name_.erase(found);
  return handle;
}

void handle_cache::put(std::unique_ptr<lock_file> left) {
  std::unique_ptr<lock_file> closed;  // after the mutex
  std::lock_guard lock(mutex_);
  idle_.push_front(std::move(left));
  by_name_.emplace(idle_.front()->name(), idle_.begin());
  if (idle_.size() <= most) return;
  const auto last = std::prev(idle_.end());
  auto [each, end] = by_name_.equal_range((*last)->name());
  while (each != end && each->second != last) ++each;
  if (each != end) by_name_.erase(each);
  closed = std::move(*last);
  idle_.erase(last);
}

}  // namespace holdfast::file
