#include "memcached_backend.hpp"

#include "pause.hpp"

#include <algorithm>
#include <utility>

// Renewing: of mutexes by the version that is known to be ours, of permits by reading and writing back.

namespace holdfast::memcached {

/// What one call has asked for, until all is answered.
struct memcached_backend::round {
  round(std::size_t count, spi::completion<std::vector<spi::renewal_outcome>> told)
      : outcomes(count), left(count), done(std::move(told)) {}

  void settle(std::size_t which, spi::renewal_outcome how) {
    {
      const std::lock_guard lock(mutex);
      outcomes[which] = how;
      if (--left != 0) return;
    }
    done(std::move(outcomes));
  }

  std::mutex mutex;
  std::vector<spi::renewal_outcome> outcomes;
  std::size_t left;
  spi::completion<std::vector<spi::renewal_outcome>> done;
};

void memcached_backend::renew(const std::vector<spi::claim>& held,
                              spi::completion<std::vector<spi::renewal_outcome>> done) {
  if (held.empty()) return done(std::vector<spi::renewal_outcome>());
  const auto all = std::make_shared<round>(held.size(), std::move(done));
  const auto deadline = items_.deadline();
  std::map<std::string, std::vector<std::size_t>> by_name;
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (held[i].kind != spi::kind::mutex) {
      by_name[held[i].name].push_back(i);
      continue;
    }
    const auto settle = [all, i](spi::renewal_outcome how) { all->settle(i, how); };
    renew_mutex(held[i], deadline, [this, claim = held[i], deadline, settle](spi::renewal_outcome how, answered when) {
      if (when == answered::in_time) return settle(how);
      engine_.at(engine_.now() + catching_up, [this, claim, deadline, settle] {
        renew_mutex(claim, deadline, [settle](spi::renewal_outcome again, answered) { settle(again); });
      });
    });
  }
  for (const auto& [name, which] : by_name) {
    std::vector<spi::claim> together;
    for (const auto i : which) together.push_back(held[i]);
    const auto settle = [all, which](const outcomes& how) {
      for (std::size_t n = 0; n < which.size(); ++n) all->settle(which[n], how[n]);
    };
    renew_item(together, deadline, [this, together, deadline, settle](const outcomes& how, answered when) {
      if (when == answered::in_time) return settle(how);
      engine_.at(engine_.now() + catching_up, [this, together, deadline, settle] {
        renew_item(together, deadline, [settle](const outcomes& again, answered) { settle(again); });
      });
    });
  }
}

/// How it ended, and whether the server can be believed to have counted by a clock that ran.
memcached_backend::answered memcached_backend::pace(spi::time_point sent) const {
  return late(sent) ? answered::late : answered::in_time;
}

void memcached_backend::renew_mutex(const spi::claim& held, spi::time_point deadline,
                                    const std::function<void(spi::renewal_outcome, answered)>& told) {
  auto mine = known(held.id);
  const auto read_first = [this, held, deadline, told] {
    renew_item({held}, deadline, [told](const outcomes& how, answered when) { told(how.front(), when); });
  };
  if (!mine) return read_first();
  record next;
  next.name = held.name;
  next.lifetime = lifetime_for(held.ttl);
  mine->who.until = wall_clock() + mine->who.ttl * 1000;
  next.holders.push_back(mine->who);
  sighting over;
  over.era = mine->era;
  over.cas = mine->cas;
  const auto sent = engine_.now();
  items_.put(next, &over, deadline, [this, held, sent, read_first, told](result<items::written> how) {
    if (!how || how->refused) return told(spi::renewal_outcome{}, answered::in_time);
    if (!how->stored) return read_first();
    const holder* still = how->after ? how->after->what.find(held.id.hex()) : nullptr;
    if (how->after && still == nullptr) return told(gone(held), answered::in_time);  // this moment
    if (still != nullptr)
      refresh(held.id, {how->after->era, how->after->cas, *still});
    else
      refresh(held.id, {});  // who needs it reads first
    told({spi::renewal::renewed, sent + kept(held.ttl)}, pace(sent));
  });
}

void memcached_backend::renew_item(const std::vector<spi::claim>& held, spi::time_point deadline,
                                   const std::function<void(const outcomes&, answered)>& told) {
  const bool mutex = held.front().kind == spi::kind::mutex;
  const auto found = std::make_shared<std::vector<bool>>(held.size());
  auto extend = [held, found, mutex](sighting& seen) -> result<items::step> {
    bool any = false;
    std::int64_t last = 1;
    for (auto& one : seen.what.holders) one.token = seen.token_of(one);
    for (std::size_t i = 0; i < held.size(); ++i) {
      holder* mine = seen.what.find(held[i].id.hex());
      // One whose time is over stays so: who looked meanwhile may have given it away.
      (*found)[i] = mine != nullptr && (mutex || mine->ends > seen.second);
      if (!(*found)[i]) continue;
      any = true;
      mine->until = wall_clock() + mine->ttl * 1000;
      if (!mutex) mine->ends = seen.second + lifetime_for(held[i].ttl);
    }
    if (!any) return items::step::leave;
    if (!mutex) std::erase_if(seen.what.holders, [&](const holder& h) { return h.ends <= seen.second; });
    for (const auto& one : seen.what.holders) last = std::max(last, one.ends - seen.second);
    seen.what.lifetime = mutex ? lifetime_for(held.front().ttl) : std::min(last, longest_lifetime);
    return items::step::write;
  };
  items_.revise(held.front().name, mutex ? items::with::item_alone : items::with::clock, deadline, std::move(extend),
                [this, held, found, told](result<items::revision> made) {
                  if (!made) return told(outcomes(held.size()), answered::in_time);
                  outcomes all;
                  for (std::size_t i = 0; i < held.size(); ++i)
                    all.push_back((*found)[i] ? renewed(held[i], *made) : gone(held[i]));
                  told(all, pace(made->last.sent));
                });
}

spi::renewal_outcome memcached_backend::gone(const spi::claim& held) {
  forget(held.id);
  return {spi::renewal::lost, {}};
}

/// What became of one that was there when it was read, and was written.
spi::renewal_outcome memcached_backend::renewed(const spi::claim& held, items::revision& made) {
  const holder* mine = made.last.what.find(held.id.hex());
  if (made.confirmed && mine == nullptr) return gone(held);  // this moment
  if (held.kind == spi::kind::mutex && made.confirmed) refresh(held.id, {made.last.era, made.last.cas, *mine});
  return {spi::renewal::renewed, made.last.sent + kept(held.ttl)};
}

}  // namespace holdfast::memcached
