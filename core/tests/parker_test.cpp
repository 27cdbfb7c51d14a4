#include "parker.hpp"

#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <thread>

namespace holdfast::detail {
namespace {

/// Takes loans, and keeps them until they are over, or has no use for them.
class borrower final : public spi::backend {
 public:
  explicit borrower(bool takes) : takes_(takes) {}

  bool lend(spi::loan& mine) override {
    if (!takes_) return false;
    ++taken;
    while (!mine.over) mine.bell.acquire();
    return true;
  }

  spi::capabilities supports() const noexcept override { return {}; }
  std::string identity() const override { return "borrower"; }
  void enter(const spi::entry_request&, spi::completion<spi::entry_result>) override {}
  void watch(const spi::claim&, spi::completion<spi::wake>) override {}
  void leave(const spi::claim&, spi::caller, spi::completion<bool>) override {}
  void renew(const std::vector<spi::claim>&, spi::completion<std::vector<spi::renewal_outcome>>) override {}
  void inspect(const std::string&, spi::completion<std::vector<entry>>) override {}
  void evict(const std::string&, spi::completion<bool>) override {}
  std::function<void()> observe(const std::string&, std::function<void()>) override {
    return [] {};
  }

  int taken = 0;

 private:
  const bool takes_;
};

/// Many times over, so that the set comes before the loan, at its beginning, and in the midst of it.
int lend_and_set(borrower& store) {
  for (int i = 0; i < 300; ++i) {
    std::latch both(2);
    std::promise<parker*> where;
    std::thread waiter([&] {
      parker p;
      where.set_value(&p);
      both.arrive_and_wait();
      p.lend(store);
      p.wait();
    });
    parker* p = where.get_future().get();
    both.arrive_and_wait();
    for (int spin = 0; spin < i % 20; ++spin) std::this_thread::yield();
    p->set();
    waiter.join();
  }
  return store.taken;
}

TEST(parker_loan, ends_with_the_set) {
  borrower store(true);
  EXPECT_GT(lend_and_set(store), 0);
}

TEST(parker_loan, that_is_not_taken_leaves_the_thread_to_sleep) {
  borrower store(false);
  EXPECT_EQ(lend_and_set(store), 0);
}

TEST(parker_loan, after_the_set_there_is_none) {
  borrower store(true);
  parker p;
  p.set();
  p.lend(store);
  p.wait();
  EXPECT_EQ(store.taken, 0);
}

}  // namespace
}  // namespace holdfast::detail
