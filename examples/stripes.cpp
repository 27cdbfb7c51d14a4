// One hot name divided into stripes: keys on different stripes do not wait for each other.
#include <holdfast/holdfast.hpp>

#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

int main() {
  const auto store = holdfast::connect();
  constexpr int accounts = 8;
  constexpr int rounds = 25;
  std::vector<int> balance(accounts, 0);

  // [stripe]
  holdfast::striped_mutex stripes(store, "accounts", 16);
  auto deposit = [&](int account) {
    std::scoped_lock guard(stripes.for_key(account));  // the same stripe for this key in every process
    balance[account] += 1;
  };
  // [stripe]

  {
    std::vector<std::jthread> tellers;
    for (int teller = 0; teller < 4; ++teller) {
      tellers.emplace_back([&] {
        for (int round = 0; round < rounds; ++round) {
          for (int account = 0; account < accounts; ++account) deposit(account);
        }
      });
    }
  }

  // [any]
  auto segment = stripes.acquire_any({.wait = 3s});  // any stripe that is free: "one of these sixteen"
  std::cout << "took " << segment.name().substr(0, segment.name().find('#')) << '\n';
  // [any]

  int total = 0;
  for (const int one : balance) total += one;
  std::cout << "total " << total << '\n';
  return total == 4 * rounds * accounts ? 0 : 1;
}
