#include "observers.hpp"

#include <utility>
#include <vector>

namespace holdfast::redis {

using namespace std::chrono_literals;

std::uint64_t observers::add(std::string prefix, std::function<void()> changed) {
  const std::lock_guard lock(mutex_);
  all_.emplace(++last_, observer{std::move(prefix), std::move(changed)});
  look_later();
  return last_;
}

void observers::remove(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  all_.erase(id);
}

bool observers::any() const {
  const std::lock_guard lock(mutex_);
  return !all_.empty();
}

void observers::tell(std::string_view name) {
  std::vector<std::function<void()>> calls;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, o] : all_)
      if (name.starts_with(o.prefix)) calls.push_back(o.changed);
  }
  for (const auto& call : calls) call();
}

void observers::tell_all() {
  std::vector<std::function<void()>> calls;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, o] : all_) calls.push_back(o.changed);
  }
  for (const auto& call : calls) call();
}

void observers::look_later() {
  if (std::exchange(timer_, true)) return;
  engine_.at(engine_.now() + 2s, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->on_time();
  });
}

void observers::on_time() {
  {
    const std::lock_guard lock(mutex_);
    timer_ = false;
    if (all_.empty()) return;
    look_later();
  }
  tell_all();
}

}  // namespace holdfast::redis
