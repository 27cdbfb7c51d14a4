#include <holdfast/detail/held_leases.hpp>

#include <algorithm>

namespace holdfast::detail {

void held_leases::put(lease held) {
  std::lock_guard lock(mutex_);
  slots_.push_back({std::this_thread::get_id(), std::move(held)});
}

std::optional<lease> held_leases::take() noexcept {
  std::lock_guard lock(mutex_);
  const auto me = std::this_thread::get_id();
  auto found = std::find_if(slots_.rbegin(), slots_.rend(), [&](const slot& s) { return s.thread == me; });
  if (found == slots_.rend())
    found = std::find_if(slots_.rbegin(), slots_.rend(), [](const slot& s) { return s.held.valid(); });
  if (found == slots_.rend()) return std::nullopt;
  auto held = std::move(found->held);
  slots_.erase(std::next(found).base());
  return held;
}

}  // namespace holdfast::detail
