// Every primitive once, as the documentation shows it.
#include <holdfast/holdfast.hpp>

#include <iostream>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

void work() {}

void plain(const holdfast::client& store) {
  // [mutex]
  holdfast::mutex m(store, "orders/42");
  {
    std::scoped_lock guard(m);  // waits; renewed in the background until it is unlocked
    work();
  }
  if (std::unique_lock guard(m, 3s); guard.owns_lock()) work();  // waits three seconds at most
  // [mutex]
}

void leases(const holdfast::client& store) {
  holdfast::mutex m(store, "orders/42");
  // [lease]
  auto lease = m.acquire({.wait = 3s, .ttl = 10s});  // throws errc::timed_out; this ttl is fixed, not renewed
  std::cout << "token " << lease.token().value() << ", " << lease.remaining() / 1s + 1 << " s left\n";

  while (!lease.lost().stop_requested()) {  // looks at the clock too: true at once after a pause beyond the ttl
    work();
    break;
  }
  if (auto released = lease.release(); !released) std::cout << released.error().detail << '\n';
  // [lease]
}

void fair(const holdfast::client& store) {
  // [fair]
  holdfast::mutex m(store, "orders/queue", {.order = holdfast::ordering::fifo});  // first come, first served
  std::scoped_lock guard(m);
  // [fair]
}

// [recursive]
void save(holdfast::recursive_mutex& m) {
  std::scoped_lock guard(m);  // the thread that holds it comes in again without asking the store
  work();
}

void save_twice(const holdfast::client& store) {
  holdfast::recursive_mutex m(store, "documents/7");
  std::scoped_lock guard(m);
  save(m);
  save(m);
}
// [recursive]

void readers(const holdfast::client& store) {
  // [shared]
  holdfast::shared_mutex catalogue(store, "catalogue");
  {
    std::shared_lock reading(catalogue);  // with other readers
    work();
  }
  auto writing = catalogue.acquire();  // alone
  work();
  writing.downgrade().value();  // now a reader, without a gap in which another writer could come in
  const bool alone_again = writing.try_upgrade();
  // [shared]
  if (!alone_again) throw std::logic_error("the only reader was not upgraded");
}

void permits(const holdfast::client& store) {
  // [permits]
  holdfast::permit_semaphore licences(store, "licences", 5);  // five at a time; a crash gives its permit back
  auto one = licences.acquire({.wait = 3s});
  auto two = licences.try_acquire({}, {}, 2);  // two in one lease, or none
  // [permits]
  if (!two) throw std::logic_error("two of four were not to be had");
}

void numbers(const holdfast::client& store) {
  // [semaphore]
  holdfast::counting_semaphore slots(store, "slots");
  slots.try_set_permits(10);  // whoever comes first
  slots.acquire();
  work();
  slots.release();
  // [semaphore]
}

void latches(const holdfast::client& store) {
  // [latch]
  holdfast::latch ready(store, "migration/ready");
  ready.try_set_count(2);  // two steps to go
  ready.count_down();      // in one process
  ready.count_down();      // in another
  ready.wait();            // in as many as you like
  // [latch]
}

void several(const holdfast::client& store) {
  // [multi]
  holdfast::mutex from(store, "accounts/1");
  holdfast::mutex to(store, "accounts/2");
  holdfast::multi_mutex both{from, to};  // of any stores, in any order: no deadlock
  {
    std::scoped_lock guard(both);
    work();
  }
  // [multi]
}

void majority() {
  // [quorum]
  const auto a = holdfast::connect("memory:a");  // in earnest: three servers that know nothing of each other
  const auto b = holdfast::connect("memory:b");
  const auto c = holdfast::connect("memory:c");
  holdfast::mutex on_a(a, "job"), on_b(b, "job"), on_c(c, "job");
  holdfast::quorum_mutex job{on_a, on_b, on_c};
  auto lease = job.acquire({.wait = 3s});  // held while two of three are
  // [quorum]
  if (!lease.valid()) throw std::logic_error("two of three were not to be had");
}

void fences(const holdfast::client& store) {
  // [fence]
  holdfast::mutex m(store, "ledger");
  holdfast::fence ledger(store, "ledger");
  const auto lease = m.acquire();
  if (ledger.admit(lease.token())) work();  // false: somebody newer was here
  // [fence]
}

void looking(const holdfast::client& store) {
  // [inspect]
  holdfast::mutex m(store, "orders/42");
  std::scoped_lock guard(m);
  for (const auto& entry : store.inspect("orders/")) {
    for (const auto& holder : entry.holders) {
      std::cout << entry.name << " is held by " << holder.client_name << ", pid " << holder.pid << '\n';
    }
  }
  // [inspect]
}

// [errors]
bool try_order(const holdfast::client& store) {
  try {
    holdfast::mutex m(store, "orders/42");
    auto lease = m.acquire({.wait = 100ms});
    work();
    return true;
  } catch (const holdfast::error& e) {
    if (e.code() == holdfast::errc::timed_out) return false;  // busy for too long
    throw;                                                    // the store is gone, or refuses: what() says why
  }
}
// [errors]

// [cancel]
bool cancelled(const holdfast::client& store) {
  holdfast::mutex m(store, "orders/42");
  std::stop_source shutdown;
  const auto held = m.acquire();
  auto pending = m.async_acquire({}, shutdown.get_token());
  shutdown.request_stop();  // the wait ends with errc::cancelled and leaves nothing in the store
  try {
    (void)pending.get();
    return false;
  } catch (const holdfast::error& e) {
    return e.code() == holdfast::errc::cancelled;
  }
}
// [cancel]

}  // namespace

int main() {
  const auto store = holdfast::connect({.name = "tour"});
  plain(store);
  leases(store);
  fair(store);
  save_twice(store);
  readers(store);
  permits(store);
  numbers(store);
  latches(store);
  several(store);
  majority();
  fences(store);
  looking(store);
  if (!try_order(store) || !cancelled(store)) return 1;
  std::cout << "toured\n";
}
