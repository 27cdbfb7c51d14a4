#include "renewer.hpp"

#include <algorithm>

namespace holdfast::detail {

namespace {

// Small enough that a transaction of renewals keeps a store's writers waiting for about a millisecond.
constexpr std::size_t batch_limit = 256;

std::chrono::nanoseconds retry_pause(std::chrono::nanoseconds ttl) {
  return std::clamp<std::chrono::nanoseconds>(ttl / 30, 5ms, 1s);
}

}  // namespace

renewer::renewer(std::shared_ptr<scheduler> time, std::shared_ptr<executor> sender, hooks h)
    : time_(std::move(time)), sender_(std::move(sender)), hooks_(std::move(h)) {}

lease_clock::time_point renewer::first_look(const store_grant& grant, lease_clock::time_point now) {
  const auto end = grant.valid_until();
  if (grant.lives() == store_grant::life::fixed) return end;
  // A third of what is left: a first term may be shorter than the ttl.
  return now + renewal_period(std::max(end - now, 0ns));
}

void renewer::add(const std::shared_ptr<store_grant>& grant) {
  table_.with([&](table& t) {
    t.grants.insert_or_assign(grant->id(), grant);
    grant->next_look = lease_clock::time_point::max();
    schedule(t, grant, first_look(*grant, grant->granted_at()));
    arm(t);
  });
}

void renewer::remove(const store_grant& grant) {
  std::shared_ptr<store_grant> last;  // destroyed outside the lock
  table_.with([&](table& t) {
    const auto found = t.grants.find(grant.id());
    if (found == t.grants.end()) return;
    last = std::move(found->second);
    t.by_time.erase({last->next_look, last.get()});
    t.grants.erase(found);
  });
}

std::shared_ptr<store_grant> renewer::find(const spi::owner_id& id) const {
  return table_.with([&](const table& t) {
    const auto found = t.grants.find(id);
    return found == t.grants.end() ? nullptr : found->second;
  });
}

void renewer::touch(const std::shared_ptr<store_grant>& grant) {
  table_.with([&](table& t) {
    if (!t.grants.contains(grant->id())) return;
    schedule(t, grant, first_look(*grant, time_->now()));
    arm(t);
  });
}

void renewer::stop() {
  table_.with([&](table& t) {
    t.stopped = true;
    if (t.timer != 0) time_->cancel(t.timer);
  });
}

void renewer::schedule(table& t, const std::shared_ptr<store_grant>& grant, lease_clock::time_point when) {
  t.by_time.erase({grant->next_look, grant.get()});
  grant->next_look = when;
  t.by_time.emplace(when, grant.get());
}

void renewer::arm(table& t) {
  if (t.stopped || t.by_time.empty() || t.by_time.begin()->first >= t.timer_at) return;
  if (t.timer != 0) time_->cancel(t.timer);
  t.timer_at = t.by_time.begin()->first;
  t.timer = time_->at(t.timer_at, [self = weak_from_this()] {
    if (auto alive = self.lock()) alive->look();
  });
}

void renewer::look() {
  const auto now = time_->now();
  batch ended;
  batch due;
  table_.with([&](table& t) {
    t.timer = 0;
    t.timer_at = lease_clock::time_point::max();
    std::vector<store_grant*> soon;
    for (const auto& [when, grant] : t.by_time) {
      // Those due within a tenth of their ttl go along: one exchange with the store instead of many.
      if (when > now + grant->ttl() / 10) break;
      soon.push_back(grant);
    }
    for (auto* grant : soon) {
      const auto shared = t.grants.at(grant->id());
      if (grant->valid_until() <= now) {
        t.by_time.erase({grant->next_look, grant});
        t.grants.erase(grant->id());
        ended.push_back(shared);
      } else if (grant->lives() == store_grant::life::renewed && grant->next_look < grant->valid_until()) {
        due.push_back(shared);
        ++grant->unanswered;
        // Until the store has answered, the next thing to look at is the end.
        schedule(t, shared, grant->valid_until());
      } else if (grant->next_look < grant->valid_until()) {
        schedule(t, shared, grant->valid_until());
      }
    }
    arm(t);
  });
  for (const auto& grant : ended) hooks_.lost(grant, grant->unanswered > 0 ? loss::unreachable : loss::expired);
  for (std::size_t from = 0; from < due.size(); from += batch_limit) {
    const auto to = std::min(due.size(), from + batch_limit);
    send({due.begin() + static_cast<std::ptrdiff_t>(from), due.begin() + static_cast<std::ptrdiff_t>(to)});
  }
}

void renewer::send(batch due) {
  sender_->post([self = shared_from_this(), due = std::move(due)]() mutable {
    std::vector<spi::claim> claims;
    claims.reserve(due.size());
    for (const auto& grant : due) claims.push_back(grant->claim());
    const auto since = self->time_->now();
    auto& sender = *self;
    sender.hooks_.renew(claims, [self = std::move(self), due = std::move(due), since](auto answer) {
      self->settle(due, since, std::move(answer));
    });
  });
}

void renewer::settle(const batch& sent, lease_clock::time_point since,
                     result<std::vector<spi::renewal_outcome>> answer) {
  const auto now = time_->now();
  std::size_t renewed = 0;
  std::size_t unknown = 0;
  batch lost;
  table_.with([&](table& t) {
    for (std::size_t i = 0; i < sent.size(); ++i) {
      const auto& grant = sent[i];
      const auto outcome = answer && i < answer->size() ? (*answer)[i] : spi::renewal_outcome{};
      if (!t.grants.contains(grant->id())) continue;  // released meanwhile
      switch (outcome.what) {
        case spi::renewal::renewed:
          ++renewed;
          grant->extend(outcome.expires, since);
          schedule(t, grant, first_look(*grant, since));
          break;
        case spi::renewal::lost:
          t.by_time.erase({grant->next_look, grant.get()});
          t.grants.erase(grant->id());
          lost.push_back(grant);
          break;
        case spi::renewal::unknown:
          ++unknown;
          // At once the first time: one lost packet must not cost a third of the ttl.
          const auto pause = grant->unanswered > 1 ? retry_pause(grant->ttl()) : 0ns;
          schedule(t, grant, std::min(now + pause, grant->valid_until()));
          break;
      }
    }
    arm(t);
  });
  for (const auto& grant : lost) hooks_.lost(grant, loss::taken);
  hooks_.renewed(renewed, unknown, now - since);
}

}  // namespace holdfast::detail
