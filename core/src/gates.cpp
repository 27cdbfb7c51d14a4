#include "gates.hpp"

#include "acquisition.hpp"
#include "terms.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace holdfast::detail {

namespace {

/// One core is the holder's. With a single one, looking out would only keep the holder from it.
std::size_t most_looking_out() {
  static const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  return std::min<std::size_t>(cores - 1, 3);
}

// Those awake came last: nobody is looked for further ahead, however many wait.
constexpr std::size_t search_depth = 4;

}  // namespace

gates::arrival gates::arrive(const std::string& name, const waiter& who, patience p) {
  return open_.with([&](auto& open) {
    const auto [found, opened] = open.try_emplace(name);
    if (opened) return arrival::inside;
    if (p == patience::does_not_wait) return arrival::refused;
    gate& g = found->second;
    std::size_t awake = 0;
    std::size_t seen = 0;
    for (auto at = g.queue.rbegin(); at != g.queue.rend() && seen < search_depth; ++at, ++seen)
      awake += (*at)->looks_out() ? 1 : 0;
    if (g.quick && awake < most_looking_out()) who->look_out();
    g.queue.push_back(who);
    return arrival::parked;
  });
}

gates::position gates::looking_out(gate& g, bool (*fits)(const acquisition&)) {
  auto at = g.queue.end();
  for (std::size_t seen = 0; seen < search_depth && at != g.queue.begin(); ++seen) {
    --at;
    if ((*at)->looks_out() && fits(**at)) return at;
  }
  return g.queue.end();
}

gates::waiter gates::take(gate& g, position who) {
  if (who == g.queue.begin()) g.passed_over.reset();
  auto taken = std::move(*who);
  g.queue.erase(who);
  return taken;
}

gates::waiter gates::hand_over(const std::string& name, lease_clock::time_point now, std::chrono::nanoseconds held,
                               bool (*fits)(const acquisition&)) {
  return open_.with([&](auto& open) -> waiter {
    const auto found = open.find(name);
    if (found == open.end()) return nullptr;
    gate& g = found->second;
    g.quick = held < quick_hold;
    if (g.queue.empty()) return nullptr;
    if (!g.passed_over || now - *g.passed_over < passed_over_time) {
      if (const auto awake = looking_out(g, fits); awake != g.queue.end()) {
        if (!g.passed_over) g.passed_over = now;
        return take(g, awake);
      }
    }
    return fits(*g.queue.front()) ? take(g, g.queue.begin()) : nullptr;
  });
}

bool gates::withdraw(const std::string& name, const acquisition* who) {
  return open_.with([&](auto& open) {
    const auto found = open.find(name);
    if (found == open.end()) return false;
    auto& queue = found->second.queue;
    const auto parked = std::find_if(queue.begin(), queue.end(), [&](const waiter& w) { return w.get() == who; });
    if (parked == queue.end()) return false;
    queue.erase(parked);
    return true;
  });
}

gates::waiter gates::depart(const std::string& name) {
  return open_.with([&](auto& open) -> waiter {
    const auto found = open.find(name);
    if (found == open.end()) return nullptr;
    if (found->second.queue.empty()) {
      open.erase(found);
      return nullptr;
    }
    return take(found->second, found->second.queue.begin());
  });
}

std::list<gates::waiter> gates::clear(const std::string& name) {
  return open_.with([&](auto& open) {
    const auto found = open.find(name);
    return found == open.end() ? std::list<waiter>() : std::exchange(found->second.queue, {});
  });
}

std::size_t gates::parked(const std::string& name) const {
  return open_.with([&](const auto& open) {
    const auto found = open.find(name);
    return found == open.end() ? std::size_t{0} : found->second.queue.size();
  });
}

std::uint32_t gates::tokens_wanted(const std::string& name) {
  return open_.with([&](auto& open) -> std::uint32_t {
    const auto found = open.find(name);
    if (found == open.end() || found->second.queue.empty()) return 1;
    gate& g = found->second;
    g.tokens = std::exchange(g.used_up, false) ? std::min(2 * g.tokens, most_handovers) : handover_count;
    return g.tokens;
  });
}

void gates::used_up(const std::string& name) {
  open_.with([&](auto& open) {
    const auto found = open.find(name);
    // Of a single one nobody was to be handed anything.
    if (found != open.end()) found->second.used_up = found->second.tokens != 0;
  });
}

}  // namespace holdfast::detail
