#include "gates.hpp"

#include <algorithm>

namespace holdfast::detail {

gates::arrival gates::arrive(const std::string& name, const waiter& who, patience p) {
  return open_.with([&](auto& open) {
    const auto [gate, opened] = open.try_emplace(name);
    if (opened) return arrival::inside;
    if (p == patience::does_not_wait) return arrival::refused;
    gate->second.push_back(who);
    return arrival::parked;
  });
}

bool gates::withdraw(const std::string& name, const acquisition* who) {
  return open_.with([&](auto& open) {
    const auto gate = open.find(name);
    if (gate == open.end()) return false;
    auto& queue = gate->second;
    const auto found = std::find_if(queue.begin(), queue.end(), [&](const waiter& w) { return w.get() == who; });
    if (found == queue.end()) return false;
    queue.erase(found);
    return true;
  });
}

gates::waiter gates::depart(const std::string& name) {
  return open_.with([&](auto& open) -> waiter {
    const auto gate = open.find(name);
    if (gate == open.end()) return nullptr;
    if (gate->second.empty()) {
      open.erase(gate);
      return nullptr;
    }
    auto next = std::move(gate->second.front());
    gate->second.pop_front();
    return next;
  });
}

std::list<gates::waiter> gates::clear(const std::string& name) {
  return open_.with([&](auto& open) {
    const auto gate = open.find(name);
    return gate == open.end() ? std::list<waiter>() : std::exchange(gate->second, {});
  });
}

std::size_t gates::parked(const std::string& name) const {
  return open_.with([&](const auto& open) {
    const auto gate = open.find(name);
    return gate == open.end() ? std::size_t{0} : gate->second.size();
  });
}

}  // namespace holdfast::detail
