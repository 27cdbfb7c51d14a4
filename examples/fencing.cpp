// A holder that was paused beyond its ttl wakes up and writes. Its fencing token gives it away.
#include <holdfast/holdfast.hpp>

#include <iostream>

using namespace std::chrono_literals;

// [admit]
/// What the protected thing does: it remembers the newest token and turns older ones away.
bool write(holdfast::fence& ledger, holdfast::fencing_token token, const char* entry) {
  const bool admitted = ledger.admit(token);
  std::cout << (admitted ? "written: " : "refused: ") << entry << '\n';
  return admitted;
}
// [admit]

int main() {
  // Two services; here they share a program only to keep the example short.
  const auto first = holdfast::connect();
  const auto second = holdfast::connect();
  holdfast::fence ledger(first, "ledger");

  // [pause]
  holdfast::mutex paused(first, "ledger");
  auto old_lease = paused.acquire({.ttl = 100ms});  // a fixed ttl: nobody renews it, as if this process stood still

  holdfast::mutex next(second, "ledger");
  auto new_lease = next.acquire({.wait = 10s});  // the ttl of the first has to run out before this returns
  // [pause]

  // Lost before the second was let in, so whoever looks before writing stops by itself ...
  if (old_lease.valid() || !old_lease.lost().stop_requested()) return 1;

  // ... and whoever looked just before the pause is stopped by the fence.
  const bool new_admitted = write(ledger, new_lease.token(), "from the new holder");
  const bool old_admitted = write(ledger, old_lease.token(), "from the old holder, too late");
  return new_admitted && !old_admitted ? 0 : 1;
}
