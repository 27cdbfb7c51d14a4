#include "memory_fixture.hpp"

#include <future>
#include <thread>

namespace holdfast::memory_tests {
namespace {

/// enter, watch, enter ... as the engine does, blocking.
spi::granted wait_for(spi::backend& store, const spi::claim& c) {
  for (;;) {
    std::optional<spi::granted> grant;
    store.enter({c, true, 1, spi::caller::may_block}, [&](result<spi::entry_result> said) {
      if (const auto* got = std::get_if<spi::granted>(&said.value())) grant = *got;
    });
    if (grant) return *grant;
    std::promise<spi::wake> woken;
    auto future = woken.get_future();
    store.watch(c, [&woken](result<spi::wake> w) { woken.set_value(w.value()); });
    const auto why = future.get();
    if (const auto* got = std::get_if<spi::granted>(&why)) return *got;
  }
}

TEST_F(memory_store, threads_of_two_clients_lose_no_update_and_wake_up) {
  constexpr int threads = 8, rounds = 2000;
  int counter = 0;
  std::uint64_t last_token = 0;
  bool ordered = true;
  {
    std::vector<std::jthread> all;
    for (int t = 0; t != threads; ++t) {
      all.emplace_back([&, t] {
        spi::backend& store = t % 2 == 0 ? *one.store : *two.store;
        for (int i = 0; i != rounds; ++i) {
          const auto c = t == 0 ? writer() : (i % 4 == 0 ? reader() : writer());
          const auto grant = wait_for(store, c);
          if (c.access == spi::access::exclusive) {
            ++counter;
            ordered = ordered && grant.first_token.value() > last_token;
            last_token = grant.first_token.value();
          }
          store.leave(c, spi::caller::may_block, [](result<bool> left) { EXPECT_TRUE(left.value()); });
        }
      });
    }
  }
  EXPECT_EQ(counter, rounds + (threads - 1) * rounds * 3 / 4);
  EXPECT_TRUE(ordered);
  EXPECT_TRUE(one.inspect().empty());
}

}  // namespace
}  // namespace holdfast::memory_tests
