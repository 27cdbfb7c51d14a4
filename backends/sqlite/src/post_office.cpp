#include "post_office.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

namespace holdfast::sqlite {

using namespace std::chrono_literals;

namespace {

// A receiver that is behind has at least ten unread datagrams; it is asked again a few times, then left to look by
// itself.
constexpr auto retry_pause = 2ms;
constexpr int most_tries = 200;
// Well below what a socket takes at once, so that ten thousand readers let in together fit in a few datagrams.
constexpr std::size_t most_per_datagram = 1000;
constexpr auto soon = 50ms;
// Who evicts waits for the mailbox of a holder that is about to open it: four times as long as that should take.
constexpr auto look_for_mailbox = 5ms;
constexpr int most_looks = 40;

}  // namespace

post_office::post_office(const sidecar& beside, spi::runtime& engine, mailbox_id self,
                         std::function<void(const message&)> deliver)
    : beside_(beside), engine_(engine), self_(self), deliver_(std::move(deliver)) {}

post_office::~post_office() {
  if (!socket_) return;
  engine_.forget(socket_.get());
  beside_.remove(self_);
}

mailbox_id post_office::open() {
  std::lock_guard lock(mutex_);
  if (!tried_) {
    tried_ = true;
    socket_ = beside_.bind(self_);
    if (socket_) engine_.on_readable(socket_.get(), [this] { read_mail(); });
  }
  return socket_ ? self_ : 0;
}

void post_office::open_soon() {
  if (soon_.exchange(true)) return;
  engine_.at(engine_.now() + soon, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->open();
  });
}

void post_office::send(const outbox& letters) {
  std::vector<message> together;
  for (std::size_t i = 0; i < letters.letters.size();) {
    const mailbox_id to = letters.letters[i].first;
    together.clear();
    // Letters to one address mostly stand side by side; their order is kept.
    for (; i < letters.letters.size() && letters.letters[i].first == to && together.size() < most_per_datagram; ++i)
      together.push_back(letters.letters[i].second);
    if (to == self_) {
      std::for_each(together.begin(), together.end(), deliver_);
    } else {
      if (together.front().what == message::kind::evicted) await_mailbox(to);
      send_to(to, together, 0);
    }
  }
}

void post_office::await_mailbox(mailbox_id of) const {
  // Without it the evicted one would learn of it only at his next renewal. An empty datagram says nothing to anybody.
  for (int i = 0; i != most_looks && beside_.usable() && beside_.send(of, {}) == sidecar::sent::nobody; ++i)
    std::this_thread::sleep_for(look_for_mailbox);
}

void post_office::send_to(mailbox_id to, std::vector<message> letters, int tries) {
  if (beside_.send(to, letters) != sidecar::sent::full || tries == most_tries) return;
  engine_.at(engine_.now() + retry_pause, [weak = weak_from_this(), to, letters = std::move(letters), tries]() mutable {
    if (const auto self = weak.lock()) self->send_to(to, std::move(letters), tries + 1);
  });
}

void post_office::read_mail() {
  std::vector<std::byte> datagram(most_per_datagram * sizeof(message));
  for (;;) {
    const auto got = ::recv(socket_.get(), datagram.data(), datagram.size(), MSG_DONTWAIT);
    if (got < 0) return;
    for (const message& m : parse({datagram.data(), static_cast<std::size_t>(got)})) deliver_(m);
  }
}

}  // namespace holdfast::sqlite
