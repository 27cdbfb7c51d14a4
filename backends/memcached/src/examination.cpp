#include "conversation.hpp"
#include "doctor.hpp"
#include "memcached_backend.hpp"

#include <algorithm>
#include <optional>

namespace holdfast::memcached {

using namespace std::chrono_literals;

namespace {

/// A name for several servers, of which every client may pick another.
std::optional<finding> ambiguity(const address& one) {
  const auto all = resolve(one);
  if (!all) return std::nullopt;
  for (const int family : {AF_INET, AF_INET6}) {
    const auto count =
        std::count_if(all->begin(), all->end(), [&](const endpoint& e) { return e.to.ss_family == family; });
    if (count < 2) continue;
    return finding{finding::level::danger, one.shown() + ": the name stands for " + std::to_string(count) +
                                               " addresses; if those are several servers, two clients can hold the "
                                               "same lock on two of them. Name each server by an address of its own"};
  }
  return std::nullopt;
}

result<std::vector<finding>> examined(const settings& where, steady::time_point deadline) {
  std::vector<finding> all;
  for (const auto& one : where.servers) {
    if (auto doubt = ambiguity(one)) all.push_back(std::move(*doubt));
    auto with = conversation::open(one, where, deadline);
    if (!with && where.servers.size() == 1) return with.error();
    if (!with) {
      all.push_back({finding::level::danger, one.shown() +
                                                 ": cannot be asked, and the names that live on it cannot be "
                                                 "locked: " +
                                                 with.error().detail});
      continue;
    }
    auto said = with->ask("stats\r\nstats settings\r\n", 2, deadline);
    if (!said) return said.error();
    const auto now =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    for (auto& found : judge({one, (*said)[0], (*said)[1], now}, where)) all.push_back(std::move(found));
  }
  return all;
}

}  // namespace

void memcached_backend::examine(spi::completion<std::vector<finding>> done) {
  const auto deadline = steady::now() + std::min<std::chrono::nanoseconds>(engine_.options().request_timeout, 1h);
  engine_.post([this, deadline, done = std::move(done)]() mutable { done(examined(where_, deadline)); });
}

}  // namespace holdfast::memcached
