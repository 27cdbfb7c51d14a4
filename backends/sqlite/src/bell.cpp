#include "bell.hpp"

#include "lock_table.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <ctime>

namespace holdfast::sqlite {

namespace {

// A bell rings for one claim at a time; what is left over from others is thrown away.
constexpr std::size_t most_messages = 16;
// As long as a quick holder takes, generously; then sleeping is the better way to wait after all.
constexpr std::chrono::microseconds longest_awake{100};
// Each costs a descriptor.
constexpr std::size_t most_kept = 32;

timespec from_now(spi::time_point when, spi::time_point now) {
  const auto left = std::max<std::int64_t>((when - now).count(), 0);
  return {left / 1'000'000'000, left % 1'000'000'000};
}

}  // namespace

bell::heard bell::read(const spi::owner_id& id, std::int64_t ticket, spi::time_point now) const {
  std::array<std::byte, most_messages * sizeof(message)> datagram;
  heard all;
  for (;;) {
    const auto got = ::recv(socket_.get(), datagram.data(), datagram.size(), MSG_DONTWAIT);
    if (got < 0) return all;
    for (const message& m : parse({datagram.data(), static_cast<std::size_t>(got)})) {
      if (m.id != id || m.ticket != ticket) continue;
      if (m.what == message::kind::next) {
        all.next = true;
        continue;
      }
      all.news = spi::look_again{};
      if (m.what != message::kind::granted || to_time(m.expires) <= now) continue;
      all.news = spi::granted{m.token, m.tokens, to_time(m.expires)};
      return all;
    }
  }
}

bell::heard bell::stay_awake(const spi::owner_id& id, std::int64_t ticket, const spi::runtime& engine) const {
  const auto until = engine.now() + longest_awake;
  for (;;) {
    const auto now = engine.now();
    heard all = read(id, ticket, now);
    if (all.news || now >= until) return all;
    // Not yielding: on a busy machine the processor would come back long after the lock did.
  }
}

spi::wake bell::wait(const spi::owner_id& id, std::int64_t ticket, const std::vector<std::shared_ptr<peer>>& ahead,
                     spi::time_point look_again, const spi::runtime& engine) const {
  std::vector<pollfd> watched{{socket_.get(), POLLIN, 0}};
  for (const auto& p : ahead) watched.push_back({p->descriptor_to_poll(), POLLIN, 0});
  for (;;) {
    const timespec left = from_now(look_again, engine.now());
    const int ready = ::ppoll(watched.data(), watched.size(), &left, nullptr);
    if (ready == 0) return spi::look_again{};
    if (ready < 0) continue;  // a signal handler ran
    if (watched[0].revents != 0) {
      heard all = read(id, ticket, engine.now());
      if (all.next && !all.news) all = stay_awake(id, ticket, engine);
      if (all.news) return *all.news;
    }
    const auto died = [](const pollfd& p) { return p.revents != 0; };
    if (std::any_of(watched.begin() + 1, watched.end(), died)) return spi::look_again{};
  }
}

std::unique_ptr<bell> bells::borrow() {
  {
    std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      auto last = std::move(free_.back());
      free_.pop_back();
      return last;
    }
  }
  const mailbox_id id = sidecar::random_id();
  descriptor socket = beside_.bind(id);
  if (!socket) return nullptr;
  return std::make_unique<bell>(beside_, id, std::move(socket));
}

void bells::give_back(std::unique_ptr<bell> free) {
  if (!free) return;
  std::lock_guard lock(mutex_);
  if (free_.size() < most_kept) free_.push_back(std::move(free));
}

}  // namespace holdfast::sqlite
