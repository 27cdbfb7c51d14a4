// Waiting without a thread: co_await works from any coroutine type.
#include <holdfast/holdfast.hpp>

#include <coroutine>
#include <exception>
#include <iostream>
#include <latch>

using namespace std::chrono_literals;

/// The smallest coroutine there is: starts at once, runs to its end, nobody waits for it. Use your own task type.
struct detached {
  struct promise_type {
    detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

// [await]
detached deposit(holdfast::mutex& account, int& balance, std::latch& done) {
  auto lease = co_await account.async_acquire({.wait = 10s});  // result<lease>; no thread waits
  if (lease) {
    balance += 10;  // alone
    lease->release().value();
  } else {
    std::cerr << lease.error().detail << '\n';
  }
  done.count_down();
}
// [await]

int main() {
  const auto store = holdfast::connect();
  holdfast::mutex account(store, "account/7");
  constexpr int deposits = 50;
  int balance = 0;
  std::latch done(deposits);

  for (int i = 0; i < deposits; ++i) deposit(account, balance, done);
  done.wait();

  std::cout << "balance " << balance << '\n';
  return balance == 10 * deposits ? 0 : 1;
}
