#include "master_watch.hpp"

#include "sentinel.hpp"

#include <array>
#include <utility>

namespace holdfast::redis {

namespace {

settings listening_at_sentinels(settings where) {
  where.whom = settings::role::sentinel;
  return where;
}

}  // namespace

master_watch::master_watch(settings where, spi::runtime& engine, std::function<void(const std::string&)> master_is)
    : where_(listening_at_sentinels(std::move(where))),
      engine_(engine),
      master_is_(std::move(master_is)),
      // They are called on the reactor thread, which ends before this does.
      ears_(std::make_shared<ears>(
          where_, engine, ears::callbacks{[this](auto, auto payload) { on_message(payload); }, [this] { look(); }})) {}

void master_watch::start() {
  ears_->listen({subject::kind::channel, "+switch-master"}, [this](const result<void>& heard) {
    if (heard) look();
  });
}

/// name, old host, old port, new host, new port
void master_watch::on_message(std::string_view text) {
  std::array<std::string_view, 5> words;
  for (auto& word : words) {
    word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  if (words[0] != where_.master || words[4].empty()) return;
  settings there = where_;
  there.host = words[3];
  there.port = words[4];
  master_is_(there.address());
}

void master_watch::look() {
  engine_.post([weak = weak_from_this()] {
    auto self = weak.lock();
    if (!self) return;
    auto found = locate_master(self->where_, self->engine_.options().connect_timeout);
    // Without an answer the connections that are there are as good as any.
    if (!found) return;
    self->engine_.at(self->engine_.now(), [weak, server = std::move(*found)] {
      if (auto still = weak.lock()) still->master_is_(server);
    });
  });
}

}  // namespace holdfast::redis
