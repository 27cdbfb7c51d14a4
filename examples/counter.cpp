// Optimistic locking: nobody waits, who comes late tries again.
#include <holdfast/holdfast.hpp>

#include <iostream>
#include <string>
#include <thread>
#include <vector>

int main() {
  const auto store = holdfast::connect();
  holdfast::cell visits(store, "visits");
  constexpr int threads = 4;
  constexpr int rounds = 25;
  auto number = [](const std::string& text) { return text.empty() ? 0 : std::stoi(text); };
  const int before = number(visits.load().value);

  {
    std::vector<std::jthread> visitors;
    for (int i = 0; i < threads; ++i) {
      visitors.emplace_back([&] {
        for (int round = 0; round < rounds; ++round) {
          // [update]
          // Called again with the newer value whenever somebody else came between.
          visits.update([&](const std::string& value) { return std::to_string(number(value) + 1); });
          // [update]
        }
      });
    }
  }

  // [exchange]
  const auto seen = visits.load();
  const bool first = visits.compare_exchange(seen.version, seen.value);   // true: nobody wrote since
  const bool second = visits.compare_exchange(seen.version, seen.value);  // false: the version has moved on
  // [exchange]

  const int added = number(seen.value) - before;
  std::cout << added << " visits counted\n";
  return added == threads * rounds && first && !second ? 0 : 1;
}
