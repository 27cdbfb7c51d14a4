#include "observers.hpp"

#include "pause.hpp"

#include <utility>
#include <vector>

namespace holdfast::memcached {

using namespace std::chrono_literals;

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
  engine_.at(engine_.now() + jittered(250ms), [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->on_time();
  });
}

void observers::on_time() {
  std::vector<std::function<void()>> calls;
  {
    const std::lock_guard lock(mutex_);
    timer_ = false;
    if (all_.empty()) return;
    for (const auto& [id, call] : all_) calls.push_back(call);
    look_later();
  }
  for (const auto& call : calls) call();
}

}  // namespace holdfast::memcached
