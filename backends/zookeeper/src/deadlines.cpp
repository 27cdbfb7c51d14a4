#include "deadlines.hpp"

#include <vector>

namespace holdfast::zookeeper {

void deadlines::add(std::shared_ptr<asked> one) {
  const std::lock_guard lock(mutex_);
  while (!open_.empty() && open_.front()->over) open_.pop_front();
  open_.push_back(std::move(one));
  if (!armed_) arm();
}

/// One timer for all, set anew only when it has run: an answered question costs none.
void deadlines::arm() {
  armed_ = true;
  engine_.at(open_.front()->until, [self = weak_from_this()] {
    if (const auto alive = self.lock()) alive->look();
  });
}

void deadlines::look() {
  std::vector<std::shared_ptr<asked>> expired;
  {
    const std::lock_guard lock(mutex_);
    const auto now = engine_.now();
    while (!open_.empty() && (open_.front()->over || open_.front()->until <= now)) {
      expired.push_back(std::move(open_.front()));
      open_.pop_front();
    }
    armed_ = false;
    if (!open_.empty()) arm();
  }
  for (const auto& one : expired) one->expire();
}

}  // namespace holdfast::zookeeper
