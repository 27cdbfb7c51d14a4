#include "lock_state.hpp"

#include <algorithm>

namespace holdfast::memory {

result<spi::entry_result> lock_state::enter(const spi::entry_request& request, const std::shared_ptr<session>& client,
                                            spi::time_point now, wakeups& woken) {
  const spi::claim& claim = request.claim;
  sweep(now, woken);
  if (const holder* mine = find(claim.id)) return spi::entry_result(mine->grant);
  if (auto refused = clash(claim)) return *refused;
  kind_ = claim.kind;
  limit_ = claim.limit;
  if (queue_.find(claim.id) != nullptr) return spi::entry_result(busy_until_next_expiry(now));
  if (queue_.empty() && fits(claim.access, claim.permits)) {
    return spi::entry_result(admit({claim.id, claim.access, claim.permits, request.tokens, claim.ttl}, client, now));
  }
  if (request.queue) queue_.push(make_waiter(request, client, now));
  return spi::entry_result(busy_until_next_expiry(now));
}

std::optional<spi::wake> lock_state::watch(const spi::owner_id& id, spi::completion<spi::wake>& done, wakeups& woken) {
  if (const holder* mine = find(id)) return spi::wake(mine->grant);
  waiter* queued = queue_.find(id);
  if (queued == nullptr) return spi::wake(spi::look_again{});
  set_watch(*queued, std::move(done), woken);
  return std::nullopt;
}

bool lock_state::leave(const spi::owner_id& id, wakeups& woken) {
  if (holder* mine = find(id)) {
    erase(mine);
  } else if (auto queued = queue_.remove(id)) {
    woken.add(std::move(queued->watch), spi::look_again{});
  } else {
    return false;
  }
  return true;
}

spi::renewal_outcome lock_state::renew(const spi::owner_id& id, std::chrono::nanoseconds ttl, spi::time_point now,
                                       wakeups& woken) {
  sweep(now, woken);
  holder* mine = find(id);
  if (mine == nullptr) return {spi::renewal::lost, {}};
  mine->grant.expires = now + ttl;
  return {spi::renewal::renewed, mine->grant.expires};
}

result<bool> lock_state::convert(const spi::owner_id& id, spi::access to, spi::time_point now, wakeups& woken) {
  sweep(now, woken);
  holder* mine = find(id);
  if (mine == nullptr) return {errc::lost, "the store does not know this lease any more"};
  if (mine->access == to) return true;
  // "Nobody is ahead": whoever is in line waits for this very reader to go.
  if (to == spi::access::exclusive && (holders_.size() > 1 || !queue_.empty())) return false;
  mine->access = to;
  admit_next(now, woken);
  return true;
}

result<bool> lock_state::raise(const spi::owner_id& id, fencing_token floor, spi::time_point now, wakeups& woken) {
  sweep(now, woken);
  if (find(id) == nullptr) return {errc::lost, "the store does not know this lease any more"};
  last_token_ = std::max(last_token_, floor.value());
  return true;
}

void lock_state::sweep(spi::time_point now, wakeups& woken) {
  const auto ended = [&](const holder& h) { return h.grant.expires <= now; };
  for (const holder& h : holders_) {
    if (ended(h)) used_ -= h.permits;
  }
  std::erase_if(holders_, ended);
  admit_next(now, woken);
}

void lock_state::forget_waiters_of(const session& client, spi::time_point now, wakeups& woken) {
  if (queue_.remove_all_of(client)) admit_next(now, woken);
}

entry lock_state::describe(const std::string& name, spi::time_point now) const {
  entry shown{name, to_string(kind_), {}, {}};
  for (const holder& h : holders_) {
    participant who = describe_participant(h.id, *h.client, h.since, now);
    who.token = h.grant.first_token;
    who.remaining = std::max(h.grant.expires - now, std::chrono::nanoseconds::zero());
    who.shared = h.access == spi::access::shared;
    who.permits = h.permits;
    shown.holders.push_back(std::move(who));
  }
  for (const waiter& w : queue_) {
    participant who = describe_participant(w.id, *w.client, w.since, now);
    who.shared = w.access == spi::access::shared;
    who.permits = w.permits;
    shown.waiters.push_back(std::move(who));
  }
  return shown;
}

std::vector<lock_state::owned> lock_state::holders() const {
  std::vector<owned> all;
  for (const holder& h : holders_) all.push_back({h.id, h.client});
  return all;
}

lock_state::holder* lock_state::find(const spi::owner_id& id) noexcept {
  const auto found = std::find_if(holders_.begin(), holders_.end(), [&](const holder& h) { return h.id == id; });
  return found == holders_.end() ? nullptr : &*found;
}

std::optional<failure> lock_state::clash(const spi::claim& wanted) const {
  if (wanted.kind == spi::kind::permits && wanted.permits > wanted.limit) {
    return failure{errc::invalid_argument, "'" + wanted.name + "': " + std::to_string(wanted.permits) +
                                               " permits asked for where there are " + std::to_string(wanted.limit)};
  }
  if (!in_use()) return std::nullopt;
  if (wanted.kind != kind_) return other_kind(wanted.name, wanted.kind, kind_);
  if (wanted.kind == spi::kind::permits && wanted.limit != limit_) {
    return failure{errc::rejected, "'" + wanted.name + "' is in use with " + std::to_string(limit_) +
                                       " permits; it cannot have " + std::to_string(wanted.limit) +
                                       " at the same time"};
  }
  return std::nullopt;
}

bool lock_state::fits(spi::access access, std::uint32_t permits) const noexcept {
  if (holders_.empty()) return true;
  if (kind_ == spi::kind::permits) return permits <= limit_ - used_;
  // An exclusive holder is alone, so the first one tells for all.
  return kind_ == spi::kind::shared_mutex && access == spi::access::shared &&
         holders_.front().access == spi::access::shared;
}

spi::granted lock_state::admit(const wish& who, std::shared_ptr<session> client, spi::time_point now) {
  const spi::granted grant{fencing_token(last_token_ + 1), who.tokens, now + who.ttl};
  last_token_ += who.tokens;
  used_ += who.permits;
  holders_.push_back({who.id, who.access, who.permits, grant, now, std::move(client)});
  return grant;
}

void lock_state::erase(holder* gone) {
  used_ -= gone->permits;
  holders_.erase(holders_.begin() + (gone - holders_.data()));
}

void lock_state::admit_next(spi::time_point now, wakeups& woken) {
  while (!queue_.empty() && fits(queue_.front().access, queue_.front().permits)) {
    waiter next = queue_.pop();
    const spi::granted grant = admit(next, std::move(next.client), now);
    // Without a watch the grant is found by the watch that comes, or by entering again.
    woken.add(std::move(next.watch), grant);
  }
}

spi::busy lock_state::busy_until_next_expiry(spi::time_point now) const noexcept {
  spi::busy answer{spi::time_point::max()};
  for (const holder& h : holders_) answer.look_again = std::min(answer.look_again, h.grant.expires);
  answer.look_again = std::max(answer.look_again, now);
  return answer;
}

participant describe_participant(const spi::owner_id& id, const session& client, spi::time_point since,
                                 spi::time_point now) {
  participant who;
  who.owner = id.hex();
  who.host = client.who().host;
  who.pid = client.who().pid;
  who.client_name = client.who().client_name;
  // Leases are counted on a clock without a date; the date is that of now, less how long ago it was.
  who.since =
      std::chrono::system_clock::now() - std::chrono::duration_cast<std::chrono::system_clock::duration>(now - since);
  return who;
}

failure other_kind(const std::string& name, spi::kind wanted, spi::kind present) {
  return {errc::rejected, "'" + name + "' is in use as a " + to_string(present) + "; it cannot be a " +
                              to_string(wanted) + " at the same time"};
}

}  // namespace holdfast::memory
