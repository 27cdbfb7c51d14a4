#include "renewals.hpp"

#include <algorithm>
#include <set>

namespace holdfast::etcd {

namespace {

constexpr std::size_t looked_for_at_once = 60;  // servers take 128 operations, and a writer has two keys

}  // namespace

renewals::renewals(office& of, const std::vector<spi::claim>& held,
                   spi::completion<std::vector<spi::renewal_outcome>> done)
    : office_(of), done_(std::move(done)), there_(held.size(), spi::renewal::unknown) {
  for (const auto& claim : held) {
    tickets_.push_back(office_.tickets.find(claim.id));
    ttls_.push_back(claim.ttl);
    positions_.push_back(tickets_.back() ? office_.tickets.position_of(tickets_.back()) : ledger::position());
  }
}

void renewals::start() {
  std::set<leases::id> leases;
  for (std::size_t i = 0; i < tickets_.size(); ++i) {
    if (tickets_[i])
      leases.insert(tickets_[i]->lease);
    else
      there_[i] = spi::renewal::lost;
  }
  const std::size_t looks = (tickets_.size() + looked_for_at_once - 1) / looked_for_at_once;
  left_ = leases.size() + looks + 1;
  sent_ = office_.engine.now();
  for (const auto lease : leases) keep_alive(lease);
  for (std::size_t i = 0; i < looks; ++i)
    look_for(i * looked_for_at_once, std::min(tickets_.size(), (i + 1) * looked_for_at_once));
  one_less();
}

void renewals::keep_alive(leases::id lease) {
  office_.terms->beat(lease, [self = shared_from_this(), lease](const result<spi::time_point>& ends) {
    {
      const std::lock_guard lock(self->mutex_);
      self->terms_.emplace(lease, ends);
    }
    self->one_less();
  });
}

void renewals::look_for(std::size_t from, std::size_t to) {
  script s;
  for (std::size_t i = from; i < to; ++i) {
    if (!tickets_[i]) continue;
    auto one = script::range(positions_[i].key);
    one.set_keys_only(true);
    s.then(std::move(one));
    if (positions_[i].writer_revision == 0) continue;
    auto other = script::range(positions_[i].writer_key);
    other.set_keys_only(true);
    s.then(std::move(other));
  }
  office_.txn(s, spi::caller::must_not_block, [self = shared_from_this(), from, to](const auto& said) {
    {
      const std::lock_guard lock(self->mutex_);
      int at = 0;
      const auto is = [&](std::int64_t created) {
        const auto& kvs = said->responses(at++).response_range().kvs();
        return !kvs.empty() && kvs.Get(0).create_revision() == created;
      };
      for (std::size_t i = from; said && i < to; ++i) {
        const auto& t = self->tickets_[i];
        if (!t) continue;
        const auto& place = self->positions_[i];
        bool there = is(place.revision);
        // A downgrade may have taken the writer's key meanwhile.
        if (place.writer_revision != 0)
          there = (is(place.writer_revision) || t->writer_revision != place.writer_revision) && there;
        self->there_[i] = there ? spi::renewal::renewed : spi::renewal::lost;
      }
    }
    self->one_less();
  });
}

void renewals::one_less() {
  {
    const std::lock_guard lock(mutex_);
    if (--left_ != 0) return;
  }
  tell();
}

void renewals::tell() {
  std::vector<spi::renewal_outcome> outcomes(tickets_.size());
  for (std::size_t i = 0; i < tickets_.size(); ++i) {
    outcomes[i].what = there_[i];
    if (there_[i] != spi::renewal::renewed) continue;
    const auto term = terms_.find(tickets_[i]->lease);
    if (term == terms_.end() || !term->second || !office_.terms->confirmed(term->first)) {
      const bool over = term != terms_.end() && !term->second && term->second.error().code == errc::lost;
      outcomes[i].what = over ? spi::renewal::lost : spi::renewal::unknown;
      continue;
    }
    outcomes[i].expires = std::min(sent_ + ttls_[i], *term->second);
  }
  done_(std::move(outcomes));
}

}  // namespace holdfast::etcd
