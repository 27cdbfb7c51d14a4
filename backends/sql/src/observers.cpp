#include "observers.hpp"

#include <utility>
#include <vector>

namespace holdfast::sql {

namespace {

constexpr auto between_looks = std::chrono::milliseconds(100);

}  // namespace

std::uint64_t observers::add(std::function<void()> changed) {
  const std::lock_guard lock(mutex_);
  all_.emplace(++last_, std::move(changed));
  look_later();
  return last_;
}

void observers::remove(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  all_.erase(id);
}

void observers::look_later() {
  if (std::exchange(timer_, true)) return;
  engine_.at(engine_.now() + between_looks, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->on_time();
  });
}

void observers::on_time() {
  std::vector<std::function<void()>> calls;
  {
    const std::lock_guard lock(mutex_);
    timer_ = false;
    if (all_.empty()) return;
    for (const auto& [id, changed] : all_) calls.push_back(changed);
    look_later();
  }
  for (const auto& call : calls) call();
}

}  // namespace holdfast::sql
