#include "engine.hpp"

#include "back_off.hpp"
#include "blocking.hpp"
#include "fork_generation.hpp"
#include "grant_hold.hpp"
#include "library_thread.hpp"
#include "observation.hpp"
#include "reactor.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

namespace holdfast::detail {

namespace {

spi::identity this_process(const client_options& options) {
  utsname names{};
  ::uname(&names);
  return {names.nodename, ::getpid(), options.name.empty() ? program_invocation_short_name : options.name};
}

}  // namespace

engine::engine(engine_parts parts, client_options options, std::string url)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      url_(std::move(url)),
      who_(this_process(options_)),
      generation_(fork_generation()),
      events_(std::make_shared<strand>(parts_.callbacks)) {}

result<std::shared_ptr<engine>> engine::make(engine_parts parts, client_options options, std::string url,
                                             const backend_maker& make_backend) {
  std::shared_ptr<engine> self(new engine(std::move(parts), std::move(options), std::move(url)), [](engine* e) {
    // The parent's engine, seen by a forked child: its threads are not here and its mutexes may be locked for ever.
    if (!e->in_own_process()) return;
    dispose([e] { delete e; });
  });
  auto store = make_backend(*self);
  if (!store) return store.error();
  self->store_ = std::move(*store);
  self->supports_ = self->store_->supports();
  const auto weak = self->weak_from_this();
  renewer::hooks hooks;
  hooks.lost = [weak](const auto& grant, loss cause) {
    if (auto e = weak.lock()) e->end_grant(grant, cause);
  };
  hooks.renew = [weak](const auto& claims, auto done) {
    if (auto e = weak.lock()) {
      auto& asked = *e->store_;
      // The answer keeps the engine: the store is not closed under a renewal.
      return asked.renew(claims,
                         [e = std::move(e), done = std::move(done)](auto answer) mutable { done(std::move(answer)); });
    }
    done(failure{errc::cancelled, "the client is gone"});
  };
  hooks.renewed = [weak](std::size_t renewed, std::size_t unknown, std::chrono::nanoseconds took) {
    auto e = weak.lock();
    if (!e) return;
    e->counters_.renewed.add(renewed);
    e->counters_.renewal.record(took);
    if (unknown == 0) return;
    e->counters_.renewal_failures.add();
    e->emit({event::kind::renewal_failed,
             {},
             {},
             loss::none,
             std::to_string(unknown) + " leases: the store did not answer"});
  };
  self->renewer_ = std::make_shared<renewer>(self->parts_.time, self->parts_.renewals, std::move(hooks));
  return self;
}

engine::~engine() {
  if (renewer_) renewer_->stop();
  // The backend's tasks and timers first, so that none finds it half gone. User callbacks have their own lifetime.
  parts_.renewals->shut_down();
  parts_.workers->shut_down();
  parts_.time->shut_down();
  store_.reset();
}

bool engine::in_own_process() const noexcept { return fork_generation() == generation_; }

void engine::log(log_level level, std::string_view line) noexcept {
  if (!parts_.outlet->logs()) return;
  if (!on_library_thread()) return parts_.outlet->log(level, line);
  // A logger that blocks must stop neither timers nor renewals.
  events_->post([out = parts_.outlet, level, text = std::string(line)] { out->log(level, text); });
}

void engine::on_readable(int fd, std::function<void()> ready) { parts_.descriptors->on_readable(fd, std::move(ready)); }
void engine::forget(int fd) noexcept { parts_.descriptors->forget(fd); }

void engine::lost(const spi::owner_id& id, loss cause) noexcept {
  if (!renewer_) return;
  // First those on their way: admit() registers with the renewer before it takes them out.
  const bool on_its_way = expected_.with([&](auto& all) {
    const auto found = all.find(id);
    if (found != all.end()) found->second = cause;
    return found != all.end();
  });
  if (on_its_way) return;
  if (auto grant = renewer_->find(id)) end_grant(grant, cause);
}

void engine::asked_for(const spi::owner_id& id) noexcept {
  const auto grant = renewer_ ? renewer_->find(id) : nullptr;
  if (!grant) return;
  log(log_level::info, "somebody asks for '" + grant->name() + "' to be released");
  const auto holder = grant->tenant.with([](const store_grant::tenancy& t) { return t.holder.lock(); });
  if (holder) emit({event::kind::asked_for, grant->name(), holder->token(), loss::none, {}});
}

std::shared_ptr<acquisition> engine::acquire(spi::claim claim, acquire_terms terms, spi::caller from,
                                             acquisition::completion done) {
  if (!in_own_process()) {
    done(failure{errc::unsupported, "this client was made before fork(); connect again in the child"});
    return nullptr;
  }
  auto self = std::make_shared<acquisition>(shared_from_this(), std::move(claim), std::move(terms), std::move(done));
  self->start(from);
  return self;
}

void engine::expect(const spi::owner_id& id) {
  expected_.with([&](auto& all) { all.emplace(id, loss::none); });
}

void engine::forget_expected(const spi::owner_id& id) {
  expected_.with([&](auto& all) { all.erase(id); });
}

std::shared_ptr<hold> engine::admit(const spi::claim& claim, const spi::granted& grant, store_grant::life life) {
  if (claim.kind == spi::kind::semaphore || claim.kind == spi::kind::latch) return forget_expected(claim.id), nullptr;
  auto shared = std::make_shared<store_grant>(claim, grant, life, now());
  auto held = std::make_shared<grant_hold>(shared_from_this(), shared, shared->draw());
  shared->tenant.with([&](store_grant::tenancy& t) { t.holder = held; });
  counters_.held.add();
  renewer_->add(shared);
  const loss on_the_way = expected_.with([&](auto& all) {
    const auto found = all.extract(claim.id);
    return found ? found.mapped() : loss::none;
  });
  if (on_the_way != loss::none) end_grant(shared, on_the_way);
  return held;
}

bool engine::pass_on(const std::shared_ptr<store_grant>& grant, lease_clock::time_point since) {
  if (grant->kind() != spi::kind::mutex || grant->order() != ordering::any) return false;
  if (!grant->tokens_left()) return gates_.used_up(grant->name()), false;
  if (grant->lives() != store_grant::life::renewed) return false;
  const auto at = now();
  // Bounded in time, so that other processes get their turn; and never a lease in trouble.
  if (at - grant->granted_at() > handover_time || grant->valid_until() - at < grant->ttl() / 2) return false;
  if (grant->tenant.with([](const store_grant::tenancy& t) { return t.ended != loss::none; })) return false;
  const auto next =
      gates_.hand_over(grant->name(), at, at - since, [](const acquisition& a) { return a.takes_handover(); });
  if (!next) return false;
  next->receive(grant, grant->draw());
  return true;
}

void engine::release(const std::shared_ptr<store_grant>& grant, fencing_token token, lease_clock::time_point since,
                     spi::caller from, unique_function<void(result<void>)> done) {
  counters_.released.add();
  counters_.hold.record(now() - since);
  if (listened_) emit({event::kind::released, grant->name(), token, loss::none, {}});
  if (pass_on(grant, since)) return done({});
  renewer_->remove(*grant);
  counters_.held.subtract();
  store_->leave(grant->claim(), from,
                [self = shared_from_this(), grant, from, done = std::move(done)](const result<bool>& left) mutable {
                  // After a store that did not answer, the next one's question must not cost this caller another
                  // timeout.
                  if (grant->kind() == spi::kind::mutex && grant->order() == ordering::any)
                    self->depart(grant->name(), left && !on_library_thread() ? from : spi::caller::must_not_block);
                  if (!left && left.error().code == errc::unavailable) self->leave_later(grant, 0);
                  if (!left) return done(left.error());
                  if (!*left) return done({errc::lost, "the store no longer knew it"});
                  done({});
                });
}

result<void> engine::renew(const std::shared_ptr<store_grant>& grant) {
  const auto sent = now();
  auto answer =
      wait_for<std::vector<spi::renewal_outcome>>([&](auto done) { store_->renew({grant->claim()}, std::move(done)); });
  if (!answer) return answer.error();
  if (answer->size() != 1 || answer->front().what == spi::renewal::unknown)
    return {errc::unavailable, "the store did not answer"};
  if (answer->front().what == spi::renewal::lost) {
    end_grant(grant, loss::taken);
    return {errc::lost, to_string(loss::taken)};
  }
  grant->extend(answer->front().expires, sent);
  renewer_->touch(grant);
  return {};
}

result<bool> engine::convert(const std::shared_ptr<store_grant>& grant, spi::access to) {
  const auto give_up = now() + options_.request_timeout;
  for (unsigned failures = 0;; ++failures) {
    auto done =
        wait_for<bool>([&](auto d) { store_->convert(grant->claim(), to, spi::caller::may_block, std::move(d)); });
    if (done && *done) grant->convert(to);
    if (done) return done;
    if (done.error().code == errc::lost) end_grant(grant, loss::taken);
    const auto pause = back_off(failures);
    if (done.error().code != errc::unavailable || now() + pause >= give_up) {
      // It may have happened: of the two, the weaker hold is the one to count on.
      if (done.error().code == errc::unavailable) grant->convert(spi::access::shared);
      return done;
    }
    std::this_thread::sleep_for(pause);
  }
}

void engine::raise(const std::shared_ptr<store_grant>& grant, fencing_token floor, spi::completion<bool> done) {
  grant->forget_tokens();
  store_->raise(grant->claim(), floor, spi::caller::must_not_block, std::move(done));
}

void engine::end_grant(const std::shared_ptr<store_grant>& grant, loss cause) noexcept {
  renewer_->remove(*grant);
  auto holder = grant->tenant.with([&](store_grant::tenancy& t) {
    if (t.ended == loss::none) t.ended = cause;
    return t.holder.lock();
  });
  if (holder) settle_loss(holder, cause);
}

void engine::settle_loss(const std::shared_ptr<grant_hold>& holder, loss cause) noexcept {
  if (!holder->lose(cause)) return;
  const auto grant = holder->grant();
  renewer_->remove(*grant);
  counters_.lost.add();
  counters_.held.subtract();
  counters_.hold.record(now() - holder->since());
  parts_.losses->post([holder] { holder->signal_loss(); });
  emit({event::kind::lost, grant->name(), holder->token(), cause, {}});
  log(log_level::warning, "lost '" + grant->name() + "': " + to_string(cause));
  // The store may still think it ours; what it knows of us is taken back, so that nobody waits for it.
  store_->leave(grant->claim(), spi::caller::must_not_block, [self = shared_from_this()](const result<bool>&) {});
  if (grant->kind() == spi::kind::mutex && grant->order() == ordering::any)
    depart(grant->name(), spi::caller::must_not_block);
}

void engine::leave_later(const std::shared_ptr<store_grant>& grant, unsigned tries) {
  const auto next = now() + back_off(tries);
  if (next >= grant->valid_until())
    return log(log_level::warning, "releasing '" + grant->name() + "': left to its ttl");
  parts_.time->at(next, [self = shared_from_this(), grant, tries] {
    self->store_->leave(grant->claim(), spi::caller::must_not_block, [self, grant, tries](const result<bool>& left) {
      if (!left && left.error().code == errc::unavailable) self->leave_later(grant, tries + 1);
    });
  });
}

void engine::depart(const std::string& name, spi::caller from) {
  // A store that refuses at once sends the waiters through here one inside the other.
  thread_local int depth = 0;
  if (depth > 8)
    return parts_.workers->post([self = shared_from_this(), name] { self->depart(name, spi::caller::must_not_block); });
  struct level {
    level() { ++depth; }
    ~level() { --depth; }
  } one_deeper;
  if (auto next = gates_.depart(name)) next->go_inside(from);
}

void engine::fail_parked(const std::string& name, const failure& why) {
  for (const auto& waiter : gates_.clear(name)) waiter->fail(why);
}

void engine::keep(std::shared_ptr<subscription_state> s) {
  subscriptions_.with([&](auto& all) {
    std::erase_if(all, [](const auto& old) { return old->cancelled(); });
    all.push_back(std::move(s));
  });
}

void engine::note_acquired(const hold& h) {
  if (listened_) emit({event::kind::acquired, h.name(), h.token(), loss::none, {}});
}

void engine::on_event(std::function<void(const event&)> callback) {
  listeners_.with(
      [&](auto& all) { all.push_back(std::make_shared<std::function<void(const event&)>>(std::move(callback))); });
  listened_ = true;
}

void engine::emit(event e) {
  if (!listened_) return;
  const auto all = listeners_.with([](const auto& l) { return l; });
  for (const auto& listener : all)
    events_->post([out = parts_.outlet, listener, e] { out->say([&] { (*listener)(e); }); });
}

}  // namespace holdfast::detail
