#include "refusals.hpp"
#include "session_backend.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

// What is asked of the sessions that hold: to take a lock, and to renew what they have.

namespace holdfast::sql {

using namespace std::chrono_literals;

namespace {

// A session that is ended for being idle sooner than this would be ended between two uses.
constexpr std::chrono::nanoseconds shortest = 1s;
constexpr std::int64_t longest = 2'147'483'647;  // milliseconds that a server can count
constexpr std::size_t renewed_at_once = 200;

/// Outcomes that come from several sessions, told when the last has come.
struct renewals : std::enable_shared_from_this<renewals> {
  std::vector<spi::claim> held;
  std::vector<spi::renewal_outcome> outcomes;
  std::atomic<std::size_t> left{0};
  spi::completion<std::vector<spi::renewal_outcome>> done;

  void settled(std::size_t how_many) {
    if (left.fetch_sub(how_many) == how_many) done(std::move(outcomes));
  }

  void ask(session& of, const statement& what, arguments with, spi::caller from, spi::time_point sent,
           const std::vector<std::size_t>& which) {
    of.ask(what, std::move(with), from, session::patience::usual,
           [self = shared_from_this(), which, sent](const result<rows>& said) {
             const std::string digits = said ? said->text(0, 0) : std::string();
             for (std::size_t i = 0; i < which.size() && i < digits.size(); ++i) {
               auto& outcome = self->outcomes[which[i]];
               outcome.what = digits[i] == '1' ? spi::renewal::renewed : spi::renewal::lost;
               outcome.expires = sent + self->held[which[i]].ttl;
             }
             self->settled(which.size());
           });
  }
};

}  // namespace

void session_backend::ask_hold(const line_ref& on, const spi::entry_request& request, mode how, std::uint64_t serial,
                               outcome_told told) {
  const spi::claim& c = request.claim;
  const auto lasts = std::max(c.ttl, shortest);
  guard lock(mutex_);
  // A longer one carries it too: there was no room for another. It is said each time: what was said with a call that
  // failed is taken back by the server.
  if (how != mode::looks) on->lasts = on->keys.size() > 1 ? std::max(lasts, on->lasts) : lasts;
  const auto time = std::chrono::ceil<std::chrono::milliseconds>(on->lasts).count();
  on->used = engine_.now();
  tend();
  lock.unlock();
  arguments with;
  store_->add_key(c.name, with);
  with.add(static_cast<std::int64_t>(how)).add(how == mode::looks ? -1 : time > longest ? 0 : time);
  with.add_bytes(c.name).add(static_cast<std::int64_t>(c.kind)).add_bytes(bytes_of(c.id));
  with.add(static_cast<std::int64_t>(c.access)).add(c.permits).add(c.limit);
  // Nobody is put in line by it; and what is carried out after we gave up on the session ends with it.
  with.add(std::max<std::uint32_t>(1, request.tokens)).add(microseconds(c.ttl)).add(0).add(0).add(on->over->number());
  with.add_bytes(holder_).add(0).add(0);
  const auto sent = engine_.now();
  auto settled = [this, on, c, how, serial, sent, told = std::move(told)](const result<rows>& said) mutable {
    auto left = remains::nothing;
    auto outcome = settle(on, c, how, serial, sent, said, left);
    if (left == remains::nothing) return told(std::move(outcome));
    auto then = [told = std::move(told), outcome = std::move(outcome)]() mutable { told(std::move(outcome)); };
    if (left == remains::hold) return give_back(on, c, std::move(then));
    store_->tables().leave(c, spi::caller::must_not_block,
                           [then = std::move(then)](const result<bool>&) mutable { then(); });
  };
  if (how == mode::looks)
    return store_->aside().ask(store_->say().hold, std::move(with), request.caller, std::move(settled));
  const auto patience = how == mode::waits ? session::patience::endless : session::patience::usual;
  on->over->ask(store_->say().hold, std::move(with), request.caller, patience, std::move(settled));
}

result<spi::entry_result> session_backend::settle(const line_ref& on, const spi::claim& c, mode how,
                                                  std::uint64_t serial, spi::time_point sent, const result<rows>& said,
                                                  remains& left) {
  const auto answer = said ? said->record() : std::vector<std::int64_t>();
  const std::string key = store_->key_of(c.name);
  const guard lock(mutex_);
  const auto use = on->keys.find(key);
  const bool same = !on->gone && use != on->keys.end() && use->second.serial == serial;
  if (same && how == mode::looks) --use->second.looks;
  if (answer.size() != 5) {
    left = how == mode::looks ? remains::record : remains::hold;
    if (!said) return said.error();
    return {errc::rejected, "'" + c.name + "': the server's answer makes no sense"};
  }
  if (answer[0] == 1) {
    // The readers whose hold was to be shared have gone meanwhile: the record is of nothing.
    const bool shares = same && use->second.holders != 0 && use->second.access == spi::access::shared;
    if (!same || (how == mode::looks && !shares)) {
      left = remains::record;
      return spi::entry_result(spi::busy{engine_.now()});
    }
    ++use->second.holders;
    const auto lasts = std::chrono::microseconds(std::clamp<std::int64_t>(answer[3], 0, microseconds(c.ttl)));
    const spi::granted grant{fencing_token(static_cast<std::uint64_t>(answer[1])),
                             static_cast<std::uint32_t>(answer[2]), sent + lasts};
    held_.insert_or_assign(c.id, hold{c, grant, on, key});
    return spi::entry_result(grant);
  }
  if (same && how != mode::looks) on->keys.erase(use);
  if (answer[0] == 2) return other_kind(c.name, c.kind, answer[1]);
  return spi::entry_result(spi::busy{engine_.now() + 250ms});
}

/// It failed, and may have got the lock all the same.
void session_backend::give_back(const line_ref& on, const spi::claim& c, detail::unique_function<void()> done) {
  const std::string key = store_->key_of(c.name);
  arguments with;
  store_->add_key(c.name, with);
  with.add(0).add_bytes(c.name).add_bytes(bytes_of(c.id));
  on->over->ask(store_->say().drop, std::move(with), spi::caller::must_not_block, session::patience::usual,
                [this, on, key, done = std::move(done)](const result<rows>& said) mutable {
                  if (!said) {
                    end_line(on, said.error());
                    return done();
                  }
                  {
                    const guard lock(mutex_);
                    on->keys.erase(key);
                    on->waits = false;
                  }
                  done();
                  place_waits();
                });
}

void session_backend::renew(const std::vector<spi::claim>& held,
                            spi::completion<std::vector<spi::renewal_outcome>> done) {
  renew_from(spi::caller::may_block, held, std::move(done));
}

void session_backend::renew_from(spi::caller who, const std::vector<spi::claim>& held,
                                 spi::completion<std::vector<spi::renewal_outcome>> done) {
  if (held.empty()) return done(std::vector<spi::renewal_outcome>());
  auto all = std::make_shared<renewals>();
  all->held = held;
  all->outcomes.resize(held.size());
  all->left = held.size() + 1;
  all->done = std::move(done);
  std::map<line_ref, std::vector<std::vector<std::size_t>>> parts;
  std::vector<std::size_t> others;
  guard lock(mutex_);
  for (std::size_t i = 0; i < held.size(); ++i) {
    const auto found = held_.find(held[i].id);
    if (!ours(held[i])) {
      others.push_back(i);
    } else if (found == held_.end()) {
      all->outcomes[i].what = spi::renewal::lost;
      all->settled(1);
    } else {
      auto& part = parts[found->second.on];
      if (part.empty() || part.back().size() == renewed_at_once) part.emplace_back();
      part.back().push_back(i);
      found->second.on->used = engine_.now();
    }
  }
  lock.unlock();
  if (!others.empty()) {
    std::vector<spi::claim> theirs;
    for (const std::size_t i : others) theirs.push_back(held[i]);
    store_->tables().renew(theirs, [all, others](const result<std::vector<spi::renewal_outcome>>& said) {
      for (std::size_t i = 0; said && i < others.size(); ++i) all->outcomes[others[i]] = (*said)[i];
      all->settled(others.size());
    });
  }
  const auto from = parts.size() == 1 ? who : spi::caller::must_not_block;
  for (auto& [on, pieces] : parts) {
    for (auto& which : pieces) {
      std::vector<const spi::claim*> claims;
      for (const std::size_t i : which) claims.push_back(&all->held[i]);
      all->ask(*on->over, store_->say().renew, store_->renewal_arguments(claims), from, engine_.now(), which);
    }
  }
  all->settled(1);
}

}  // namespace holdfast::sql
