#include "keys.hpp"
#include "redis_backend.hpp"

#include <algorithm>

namespace holdfast::redis {

result<void> redis_backend::prepare() {
  if (auto good = courier_.open(); !good) return good;
  const auto& nodes = courier_.nodes();
  if (!nodes) return {};
  pubsub_ = where_.pubsub;
  if (pubsub_ == publishing::automatic) pubsub_ = nodes->sharded() ? publishing::sharded : publishing::plain;
  if (pubsub_ != publishing::plain && !nodes->sharded())
    return {errc::unsupported, "redis " + where_.shown() +
                                   ": the servers have no sharded pub/sub, which Redis 7.0 "
                                   "brought; write pubsub=plain or leave it out"};
  return {};
}

std::optional<failure> redis_backend::refusal(spi::kind k, const std::string& name) const {
  if (!courier_.nodes() || keeps_its_slot(k, name)) return std::nullopt;
  return failure{errc::invalid_argument,
                 "'" + name + "': on a Redis Cluster a name has no braces, or those of a hash tag" +
                     (k == spi::kind::latch ? ", and that of a latch has none" : ", as in 'a{tag}b'") +
                     ": its keys would be in different slots"};
}

std::vector<subject> redis_backend::subjects_of(const spi::claim& c) const {
  std::vector<subject> all{{subject::kind::channel, client_channel(uuid_)}};
  if (courier_.nodes()) all.push_back({subject::kind::channel, presence_channel(uuid_), slot_of(c.name)});
  if (c.kind != spi::kind::mutex || c.order != ordering::fifo) return all;
  if (pubsub_ != publishing::sharded) all.push_back({subject::kind::pattern, fair_pattern(uuid_)});
  if (auto own = own_subject(c)) all.push_back(std::move(*own));
  return all;
}

std::vector<subject> redis_backend::public_subjects(const std::string& channel) const {
  std::vector<subject> all;
  if (pubsub_ != publishing::sharded) all.push_back({subject::kind::channel, channel});
  if (pubsub_ != publishing::plain) all.push_back({subject::kind::shard, channel, slot_of(channel)});
  return all;
}

bool redis_backend::listening(const spi::claim& c) const {
  const auto all = subjects_of(c);
  return std::all_of(all.begin(), all.end(), [&](const subject& what) { return ears_->hears(what); });
}

void redis_backend::listen(std::vector<subject> all, hearing::ready done) {
  const subject next = std::move(all.back());
  all.pop_back();
  ears_->listen(next, [this, all = std::move(all), done = std::move(done)](result<void> heard) mutable {
    if (!heard || all.empty()) return done(std::move(heard));
    listen(std::move(all), std::move(done));
  });
}

/// What was said before is looked for once. A server that refuses to tell (no right to the channel) ends the wait.
void redis_backend::heard(const std::string& who, const result<void>& subscribed) {
  if (!subscribed && subscribed.error().code != errc::unavailable) return tickets_.fail(who, subscribed.error());
  tickets_.wake(who, spi::look_again{});
}

/// Somebody who is not one of us may free it: then only the public channel tells.
void redis_backend::hear_others(const spi::claim& c, const std::string& who) {
  if (!tickets_.need(who)) return;
  listen(public_subjects(public_channel(c.kind, c.name)),
         [this, who](const result<void>& subscribed) { heard(who, subscribed); });
}

void redis_backend::hush(const std::string& channel) {
  if (tickets_.needed(channel)) return;
  for (const subject& it : public_subjects(channel)) ears_->ignore(it);
  // Somebody who came in between found the subscription that has just been ended.
  if (!tickets_.needed(channel)) return;
  listen(public_subjects(channel), [this, channel](const result<void>&) { tickets_.wake_first_on(channel); });
}

/// Sharded channels have no patterns: in a fair queue each listens to its own.
std::optional<subject> redis_backend::own_subject(const spi::claim& c) const {
  if (pubsub_ == publishing::plain || c.kind != spi::kind::mutex || c.order != ordering::fifo) return std::nullopt;
  return subject{subject::kind::shard, fair_channel(c.name, owner(c)), slot_of(c.name)};
}

}  // namespace holdfast::redis
