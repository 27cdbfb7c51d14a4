#include "worker.hpp"

#include "journal.hpp"

#include <holdfast/holdfast.hpp>

#include <sys/prctl.h>
#include <unistd.h>
#include <csignal>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <system_error>

namespace demo {

namespace {

void record(const workshop& shop, const holdfast::lease& lease) {
  journal(shop.journal())
      .append(
          {.token = lease.token().value(), .pid = ::getpid(), .when = holdfast::lease_clock::now().time_since_epoch()});
}

void count_rounds(const workshop& shop, holdfast::mutex& lock, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const auto lease = lock.acquire();
    record(shop, lease);
    increment(shop);
  }
}

}  // namespace

pid_t start(const std::function<void()>& work) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child > 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // The parent died before the line above.
  try {
    work();
    ::_exit(0);
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    ::_exit(1);
  }
}

long count(const workshop& shop) {
  long value = 0;
  std::ifstream(shop.counter()) >> value;
  return value;
}

void increment(const workshop& shop) {
  const long value = count(shop);
  // One width for all, and no truncation before: without the lock updates get lost, but no number is ever half of one.
  std::fstream(shop.counter(), std::ios::in | std::ios::out) << std::setw(12) << value + 1;
}

void count_under_lock(const workshop& shop, int rounds) {
  holdfast::mutex lock(holdfast::connect(shop.store()), "counter");
  count_rounds(shop, lock, rounds);
}

void count_and_hang(const workshop& shop, int rounds, int ready) {
  holdfast::mutex lock(holdfast::connect(shop.store()), "counter");
  count_rounds(shop, lock, rounds);
  const auto lease = lock.acquire();
  record(shop, lease);
  if (::write(ready, "!", 1) != 1) return;
  for (;;) ::pause();
}

}  // namespace demo
