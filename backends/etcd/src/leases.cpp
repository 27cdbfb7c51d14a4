#include "leases.hpp"

#include <algorithm>
#include <random>

namespace holdfast::etcd {

using namespace std::chrono_literals;

namespace {

/// Chosen by us, positive: some versions of etcd mishandle negative ones.
std::int64_t random_id() {
  const auto bytes = spi::owner_id::random().bytes;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i) number = number << 8 | bytes[i];
  return static_cast<std::int64_t>(number >> 1 | std::uint64_t{1} << 60);
}

std::int64_t whole_seconds(std::chrono::nanoseconds ttl) {
  return std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(ttl).count());
}

}  // namespace

leases::leases(wire& through, std::shared_ptr<heartbeat> pulse, std::function<void(id)> lost)
    : wire_(through), pulse_(std::move(pulse)), lost_(std::move(lost)) {}

void leases::session(spi::caller from, spi::completion<allotment> done) {
  {
    std::unique_lock lock(mutex_);
    if (session_ != 0) {
      const id ready = session_;
      lock.unlock();
      return done(allotment{ready, from});
    }
    waiting_.push_back(std::move(done));
    if (waiting_.size() > 1) return;  // asked for already
  }
  ask(wire_.engine().options().ttl, from,
      [self = shared_from_this(), from](const result<id>& got) { self->on_session(from, got); });
}

void leases::on_session(spi::caller from, const result<id>& outcome) {
  std::vector<spi::completion<allotment>> all;
  {
    const std::lock_guard lock(mutex_);
    if (outcome) session_ = *outcome;
    all.swap(waiting_);
  }
  const auto tell = [&](spi::completion<allotment>& one, spi::caller as) {
    if (!outcome) return one(outcome.error());
    one(allotment{*outcome, as});
  };
  // The first last: it may block.
  for (std::size_t i = 1; i < all.size(); ++i) tell(all[i], spi::caller::must_not_block);
  if (!all.empty()) tell(all.front(), from);
}

void leases::grant(std::chrono::nanoseconds ttl, spi::caller from, spi::completion<id> done) {
  ask(ttl, from, std::move(done));
}

void leases::ask(std::chrono::nanoseconds ttl, spi::caller from, spi::completion<id> done) {
  etcdserverpb::LeaseGrantRequest request;
  // A fresh one for each try: one whose answer was lost holds nothing and ends by itself.
  request.set_id(random_id());
  request.set_ttl(whole_seconds(ttl));
  const auto sent = wire_.engine().now();
  wire_.ask(methods::grant, std::move(request), from,
            [self = shared_from_this(), sent, done = std::move(done)](auto reply) mutable {
              if (!reply) return done(reply.error());
              if (!reply->error().empty()) return done(failure{errc::rejected, "etcd: " + reply->error()});
              const auto granted = std::chrono::seconds(reply->ttl());
              {
                const std::lock_guard lock(self->mutex_);
                self->terms_[reply->id()] = {granted, sent + granted, reply->header().raft_term(), true};
              }
              self->schedule(reply->id(), granted / 3);
              done(reply->id());
            });
}

void leases::let_run(id lease) {
  const std::lock_guard lock(mutex_);
  const auto found = terms_.find(lease);
  if (found != terms_.end()) found->second.kept = false;
}

void leases::schedule(id lease, std::chrono::nanoseconds in) {
  auto& engine = wire_.engine();
  engine.at(engine.now() + in, [weak = weak_from_this(), lease] {
    if (auto self = weak.lock()) self->keep(lease);
  });
}

void leases::keep(id lease) {
  std::chrono::nanoseconds ttl{0};
  {
    const std::lock_guard lock(mutex_);
    const auto found = terms_.find(lease);
    if (stopped_ || found == terms_.end() || !found->second.kept) return;
    ttl = found->second.ttl;
  }
  beat(lease, [self = shared_from_this(), lease, ttl](const result<spi::time_point>& ends) {
    if (ends) return self->schedule(lease, ttl / 3);
    if (ends.error().code != errc::lost)
      self->schedule(lease, std::clamp<std::chrono::nanoseconds>(ttl / 30, 20ms, 1s));
  });
}

void leases::beat(id lease, spi::completion<spi::time_point> done) {
  pulse_->beat(lease, [self = shared_from_this(), lease, done = std::move(done)](auto outcome) mutable {
    if (!outcome) return done(outcome.error());
    if (!*outcome) {
      self->gone(lease);
      return done(failure{errc::lost, "the lease ended at the server"});
    }
    {
      const std::lock_guard lock(self->mutex_);
      const auto found = self->terms_.find(lease);
      if (found != self->terms_.end()) {
        found->second.ends = std::max(found->second.ends, (*outcome)->ends);
        found->second.raft_term = (*outcome)->raft_term;
      }
    }
    done((*outcome)->ends);
  });
}

spi::time_point leases::ends(id lease) const {
  const std::lock_guard lock(mutex_);
  const auto found = terms_.find(lease);
  return found == terms_.end() ? spi::time_point::min() : found->second.ends;
}

bool leases::confirmed(id lease) const {
  const std::lock_guard lock(mutex_);
  const auto found = terms_.find(lease);
  return found != terms_.end() && found->second.raft_term >= wire_.raft_term();
}

void leases::gone(id lease) {
  {
    const std::lock_guard lock(mutex_);
    if (terms_.erase(lease) == 0) return;
    if (session_ == lease) session_ = 0;
  }
  lost_(lease);
}

void leases::drop(id lease) {
  {
    const std::lock_guard lock(mutex_);
    if (terms_.erase(lease) == 0) return;
  }
  etcdserverpb::LeaseRevokeRequest request;
  request.set_id(lease);
  // If it goes wrong, the lease ends by itself: nobody keeps it alive any more.
  wire_.ask(methods::revoke, std::move(request), spi::caller::must_not_block, [](const auto&) {});
}

leases::id leases::take_session() {
  const std::lock_guard lock(mutex_);
  terms_.erase(session_);
  return std::exchange(session_, 0);
}

void leases::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
}

}  // namespace holdfast::etcd
