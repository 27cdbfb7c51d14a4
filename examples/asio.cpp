// Waiting inside an Asio program: any completion token, on its own executor, with Asio's own cancellation.
#include <holdfast/asio.hpp>
#include <holdfast/holdfast.hpp>

#include <asio/experimental/awaitable_operators.hpp>
#include <iostream>

using namespace std::chrono_literals;

// [await]
asio::awaitable<void> transfer(holdfast::mutex& account, int& balance) {
  auto lease = co_await holdfast::async_acquire(account, {.wait = 10s}, asio::use_awaitable);  // throws holdfast::error
  balance += 10;  // alone, and back on the executor of this coroutine
}
// [await]

// [cancel]
/// True if the lock came free within `patience`; otherwise the wait is cancelled and nothing of it stays in the store.
asio::awaitable<bool> patient(holdfast::mutex& account, std::chrono::milliseconds patience) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer timer(co_await asio::this_coro::executor, patience);
  auto first =
      co_await (holdfast::async_acquire(account, {}, asio::use_awaitable) || timer.async_wait(asio::use_awaitable));
  co_return first.index() == 0;
}
// [cancel]

int main() {
  const auto store = holdfast::connect();
  holdfast::mutex account(store, "account/8");
  asio::io_context io;
  int balance = 0;

  for (int i = 0; i < 20; ++i) asio::co_spawn(io, transfer(account, balance), asio::detached);
  io.run();
  std::cout << "balance " << balance << '\n';

  const auto held = account.acquire();
  io.restart();
  auto obtained = asio::co_spawn(io, patient(account, 20ms), asio::use_future);
  io.run();
  const bool gave_up = !obtained.get();
  std::cout << (gave_up ? "gave up\n" : "obtained a held lock\n");
  return balance == 200 && gave_up ? 0 : 1;
}
