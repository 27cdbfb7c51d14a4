#include "memcached_backend.hpp"

#include "keys.hpp"
#include "pause.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::memcached {

using namespace std::chrono_literals;

namespace {

failure other_kind(const sighting& seen, spi::kind wanted) {
  return {errc::rejected, "'" + seen.what.name + "' is in use as a " + to_string(seen.what.kind) + "; it cannot be a " +
                              to_string(wanted) + " at the same time"};
}

void drop_ended(sighting& seen) {
  std::erase_if(seen.what.holders, [&](const holder& h) { return h.ends != 0 && h.ends <= seen.second; });
}

/// Those who came by an earlier write keep its number once another follows.
void fix_tokens(sighting& seen) {
  for (auto& one : seen.what.holders) one.token = seen.token_of(one);
}

/// The item lives as long as the last of its holders.
void set_lifetime(sighting& seen) {
  std::int64_t last = 1;
  for (const auto& one : seen.what.holders) last = std::max(last, one.ends - seen.second);
  seen.what.lifetime = std::min(last, longest_lifetime);
}

}  // namespace

result<std::unique_ptr<spi::backend>> memcached_backend::open(settings where, spi::runtime& engine) {
  auto store = std::make_unique<memcached_backend>(std::move(where), engine);
  if (auto good = store->items_.open(); !good) return good.error();
  return std::unique_ptr<spi::backend>(std::move(store));
}

memcached_backend::memcached_backend(settings where, spi::runtime& engine)
    : where_(std::move(where)),
      engine_(engine),
      items_(where_, engine),
      observers_(std::make_shared<observers>(engine)) {}

std::optional<memcached_backend::version> memcached_backend::known(const spi::owner_id& id) {
  const std::lock_guard lock(mutex_);
  const auto found = versions_.find(id);
  if (found == versions_.end() || found->second.cas == 0) return std::nullopt;
  return found->second;
}

void memcached_backend::remember(const spi::owner_id& id, version seen) {
  const std::lock_guard lock(mutex_);
  versions_.insert_or_assign(id, std::move(seen));
}

void memcached_backend::refresh(const spi::owner_id& id, version seen) {
  const std::lock_guard lock(mutex_);
  if (const auto found = versions_.find(id); found != versions_.end()) found->second = std::move(seen);
}

bool memcached_backend::forget(const spi::owner_id& id) {
  const std::lock_guard lock(mutex_);
  return versions_.erase(id) != 0;
}

holder memcached_backend::described(const spi::claim& c) const {
  holder out;
  out.id = c.id.hex();
  out.permits = c.permits;
  out.ttl = std::chrono::ceil<std::chrono::milliseconds>(kept(c.ttl)).count();
  out.since = wall_clock();
  out.until = out.since + out.ttl * 1000;
  out.pid = engine_.who().pid;
  out.host = engine_.who().host;
  out.client_name = engine_.who().client_name;
  return out;
}

struct memcached_backend::entering {
  spi::entry_request request;
  spi::time_point deadline;
  entered done;
  unsigned attempts = 0;
  bool doubted = false;
};

void memcached_backend::enter(const spi::entry_request& request, entered done) {
  const spi::claim& c = request.claim;
  if (c.kind != spi::kind::mutex && c.kind != spi::kind::permits)
    return done(failure{errc::unsupported, std::string("memcached has no ") + to_string(c.kind)});
  if (c.permits > c.limit) {
    return done(failure{errc::invalid_argument, "'" + c.name + "': " + std::to_string(c.permits) +
                                                    " permits asked for where there are " + std::to_string(c.limit)});
  }
  enter_once(std::make_shared<entering>(entering{request, items_.deadline(), std::move(done)}));
}

void memcached_backend::enter_once(const std::shared_ptr<entering>& one) {
  if (one->request.claim.kind == spi::kind::mutex) return enter_mutex(one);
  enter_permits(one);
}

void memcached_backend::enter_again(const std::shared_ptr<entering>& one) {
  const auto now = engine_.now();
  if (now >= one->deadline)
    return one->done(
        failure{errc::unavailable, "'" + one->request.claim.name + "': the server keeps nothing, or answers too late"});
  // In doubt not at once: the clock must have had time to catch up.
  const std::chrono::nanoseconds pause =
      one->doubted ? catching_up : jittered(1ms * (1U << std::min(one->attempts++, 5U)));
  engine_.at(now + pause, [this, one] { enter_once(one); });
}

/// An answer that took so long may be that of a server which stood still, and its clock with it: what it wrote before
/// the clock caught up ends early by as long. Asked once more, it counts from a clock that runs.
bool memcached_backend::late(spi::time_point sent) const { return engine_.now() - sent > 500ms; }

/// Adds the item, and looks at it: in one exchange. If it is ours it is granted, and the version in which it was added
/// is the token. It may be ours from before, if the answer to this very claim was lost.
void memcached_backend::enter_mutex(const std::shared_ptr<entering>& one) {
  record mine;
  mine.name = one->request.claim.name;
  mine.lifetime = lifetime_for(one->request.claim.ttl);
  mine.holders.push_back(described(one->request.claim));
  items_.put(mine, nullptr, one->deadline, [this, one](result<items::written> how) {
    if (!how) return one->done(how.error());
    // A server that has no room says so also where somebody has it already.
    if (how->refused && (!how->after || !how->after->there)) return one->done(*how->refused);
    if (!how->after) return one->done(how->after.error());
    sighting& seen = *how->after;
    const spi::claim& c = one->request.claim;
    if (seen.foreign) return one->done(*seen.foreign);
    if (!seen.there) return enter_again(one);  // gone this moment: it is free
    if (seen.what.kind != c.kind) return one->done(other_kind(seen, c.kind));
    holder* held = seen.what.find(c.id.hex());
    if (held == nullptr) return one->done(wait(one->request));
    if (late(seen.sent) && !std::exchange(one->doubted, true)) return enter_again(one);
    held->token = seen.token_of(*held);
    remember(c.id, {seen.era, seen.cas, *held});
    auto left = kept(c.ttl);
    // From before: what is left is known in whole seconds.
    if (!how->stored) left = std::min(left, sure_of(seen.left));
    one->done(grant(one->request, held->token, seen.sent + left));
  });
}

void memcached_backend::enter_permits(const std::shared_ptr<entering>& one) {
  const spi::claim c = one->request.claim;
  const auto lasts = lifetime_for(c.ttl);
  enum class outcome : std::uint8_t { busy, added, found };
  const auto how = std::make_shared<outcome>(outcome::busy);
  auto take = [this, c, lasts, how](sighting& seen) -> result<items::step> {
    *how = outcome::busy;
    if (seen.foreign) return *seen.foreign;
    drop_ended(seen);
    record& all = seen.what;
    if (seen.there && !all.holders.empty()) {
      if (all.kind != c.kind) return other_kind(seen, c.kind);
      if (all.limit != c.limit)
        return failure{errc::rejected, "'" + c.name + "' is in use with " + std::to_string(all.limit) +
                                           " permits; it cannot have " + std::to_string(c.limit) + " at the same time"};
    }
    if (all.find(c.id.hex()) != nullptr) return *how = outcome::found, items::step::leave;
    if (all.taken() + c.permits > c.limit) return items::step::leave;
    *how = outcome::added;
    fix_tokens(seen);
    all.kind = c.kind;
    all.limit = c.limit;
    all.holders.push_back(described(c));
    all.holders.back().ends = seen.second + lasts;
    set_lifetime(seen);
    return items::step::write;
  };
  items_.revise(c.name, items::with::clock, one->deadline, std::move(take),
                [this, one, how](result<items::revision> made) {
                  if (!made) return one->done(made.error());
                  const spi::claim& wanted = one->request.claim;
                  if (*how == outcome::busy) return one->done(wait(one->request));
                  sighting& last = made->last;
                  const holder* mine = last.what.find(wanted.id.hex());
                  if (!made->confirmed || mine == nullptr)
                    return one->done(failure{errc::unavailable, "'" + wanted.name + "': it cannot be told who has it"});
                  if (late(last.sent) && !std::exchange(one->doubted, true)) return enter_again(one);
                  auto left = kept(wanted.ttl);
                  if (*how == outcome::found) left = std::min(left, sure_of(mine->ends - last.second));
                  one->done(grant(one->request, last.token_of(*mine), last.sent + left));
                });
}

spi::entry_result memcached_backend::grant(const spi::entry_request& request, std::uint64_t token,
                                           spi::time_point expires) {
  stop_waiting(request.claim);
  const auto tokens = std::clamp<std::uint32_t>(request.tokens, 1, server_life::block);
  return spi::granted{fencing_token(token), tokens, expires};
}

/// Nobody tells when it comes free. Who waits says so in an item of its own, for inspect; it means nothing else.
spi::entry_result memcached_backend::wait(const spi::entry_request& request) {
  const spi::claim& c = request.claim;
  const auto now = engine_.now();
  if (!request.queue) return spi::busy{now};
  const auto turn = tickets_.missed(c, now);
  if (turn.note_due) {
    record note;
    note.kind = c.kind;
    note.limit = c.limit;
    note.name = c.name;
    note.lifetime = note_lifetime(turn.pause);
    note.holders.push_back(described(c));
    note.holders.back().since =
        std::chrono::duration_cast<std::chrono::microseconds>(turn.since.time_since_epoch()).count();
    std::string text = note.encoded();
    command put{"ms " + waiter_key(c.name, c.id) + " " + std::to_string(text.size()) + " T" +
                std::to_string(note.lifetime)};
    put.data = std::move(text);
    items_.ask(c.name, std::move(put), items_.deadline(), [](const result<reply>&) {});
  }
  return spi::busy{now + turn.pause};
}

void memcached_backend::stop_waiting(const spi::claim& c) {
  if (!tickets_.close(c.id)) return;
  items_.ask(c.name, {"md " + waiter_key(c.name, c.id)}, items_.deadline(), [](const result<reply>&) {});
}

void memcached_backend::watch(const spi::claim& queued, spi::completion<spi::wake> done) {
  tickets_.watch(queued, std::move(done));
}

void memcached_backend::leave(const spi::claim& ours, spi::caller, spi::completion<bool> done) {
  const auto deadline = items_.deadline();
  stop_waiting(ours);
  done = [this, name = ours.name, count = ours.permits, done = std::move(done)](result<bool> was) mutable {
    if (was && *was) tickets_.wake(name, count);
    done(std::move(was));
  };
  // A leave that is sent again reads first.
  const auto mine = known(ours.id);
  forget(ours.id);
  if (!mine) return leave_item(ours, deadline, std::move(done));
  command erase{"md " + key_of(lock_keys, ours.name) + " C" + std::to_string(mine->cas)};
  erase.era = mine->era;
  items_.ask(ours.name, std::move(erase), deadline,
             [this, ours, deadline, done = std::move(done)](const result<reply>& said) mutable {
               if (!said) return done(said.error());
               // Written since: by a renewal whose answer was lost, or by somebody else.
               if (!said->is("HD") && !said->is("NF")) return leave_item(ours, deadline, std::move(done));
               done(said->is("HD"));
             });
}

void memcached_backend::leave_item(const spi::claim& ours, spi::time_point deadline, spi::completion<bool> done) {
  const auto was = std::make_shared<bool>(false);
  auto take_out = [was, id = ours.id.hex()](sighting& seen) -> result<items::step> {
    *was = false;
    if (seen.what.find(id) == nullptr) return items::step::leave;
    *was = true;
    fix_tokens(seen);
    std::erase_if(seen.what.holders, [&](const holder& h) { return h.id == id; });
    drop_ended(seen);
    if (seen.what.holders.empty()) return items::step::erase;
    set_lifetime(seen);
    return items::step::write;
  };
  const auto what = ours.kind == spi::kind::mutex ? items::with::item_alone : items::with::clock;
  items_.revise(ours.name, what, deadline, std::move(take_out),
                [was, done = std::move(done)](const result<items::revision>& made) mutable {
                  if (!made) return done(made.error());
                  done(*was && made->done != items::step::leave);
                });
}

void memcached_backend::evict(const std::string& name, spi::completion<bool> done) {
  const auto out = std::make_shared<std::vector<std::string>>();
  auto take_all = [out](sighting& seen) -> result<items::step> {
    if (seen.foreign) return *seen.foreign;
    drop_ended(seen);
    out->clear();
    for (const auto& one : seen.what.holders) out->push_back(one.id);
    return seen.there ? items::step::erase : items::step::leave;
  };
  items_.revise(name, items::with::clock, items_.deadline(), std::move(take_all),
                [this, name, out, done = std::move(done)](const result<items::revision>& made) mutable {
                  if (!made) return done(made.error());
                  const bool was = made->done == items::step::erase && !out->empty();
                  if (was) tickets_.wake(name, static_cast<std::uint32_t>(out->size()));
                  done(was);
                });
}

std::function<void()> memcached_backend::observe(const std::string&, std::function<void()> changed) {
  const auto id = observers_->add(std::move(changed));
  return [this, id] { observers_->remove(id); };
}

}  // namespace holdfast::memcached
