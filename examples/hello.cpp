#include <holdfast/holdfast.hpp>

#include <iostream>
#include <mutex>

using namespace std::chrono_literals;

int main() {
  const auto store = holdfast::connect();  // $HOLDFAST_STORE, or else this user's embedded store
  holdfast::mutex order(store, "orders/42");
  {
    std::scoped_lock guard(order);  // alone, in every process on this store; renewed until it is unlocked
    std::cout << "one at a time\n";
  }
  if (auto lease = order.try_acquire({.wait = 3s})) {
    std::cout << "token " << lease->token().value() << '\n';  // grows with every grant: send it with your writes
    if (lease->lost().stop_requested()) return 1;             // stopped before anybody else can get in
  }
}
