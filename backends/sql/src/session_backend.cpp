#include "session_backend.hpp"

#include "refusals.hpp"

#include <utility>

namespace holdfast::sql {

using namespace std::chrono_literals;

namespace {

constexpr std::int64_t whatever_it_has = 0;
constexpr std::int64_t record_only = 3;

}  // namespace

session_backend::session_backend(spi::runtime& engine, std::unique_ptr<session_store> store)
    : engine_(engine), store_(std::move(store)), holder_(describe(engine.who())) {}

session_backend::~session_backend() = default;

void session_backend::enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) {
  const spi::claim& c = request.claim;
  if (!ours(c)) return store_->tables().enter(request, std::move(done));
  if (const auto why = tickets_.refusal(c.id)) {
    tickets_.close(c.id);
    return done(*why);
  }
  guard lock(mutex_);
  if (const auto found = held_.find(c.id); found != held_.end()) {
    const spi::granted grant = found->second.grant;
    lock.unlock();
    return done(spi::entry_result(grant));
  }
  const auto found = waits_.find(c.id);
  if (found != waits_.end() && (found->second->on || found->second->trying)) {
    lock.unlock();
    return done(spi::entry_result(spi::busy{engine_.now() + makes_sure}));
  }
  if (found != waits_.end()) found->second->trying = true;
  // A session that has waited before is there to wait again: the server is asked once, and not to try first.
  const bool waits_at_once =
      request.queue && found == waits_.end() && idle_line() != nullptr && holder_of(store_->key_of(c.name)) == nullptr;
  lock.unlock();
  if (request.queue) tickets_.open(c.id);
  if (waits_at_once) return begin_wait(request, std::move(done));
  try_now(request, std::move(done));
}

/// What need not be asked of the server: we have it ourselves.
std::optional<result<spi::entry_result>> session_backend::known(const spi::claim& c, const std::string& key) const {
  const line_ref holder = holder_of(key);
  if (!holder) return std::nullopt;
  const key_use& use = holder->keys.at(key);
  if (use.name == c.name && use.kind != c.kind) return other_kind(c.name, c.kind, static_cast<std::int64_t>(use.kind));
  if (c.access == spi::access::exclusive || use.access == spi::access::exclusive || use.converting)
    return spi::entry_result(spi::busy{engine_.now() + looks_again});
  return std::nullopt;
}

void session_backend::try_now(const spi::entry_request& request, spi::completion<spi::entry_result> done) {
  const spi::claim& c = request.claim;
  const std::string key = store_->key_of(c.name);
  guard lock(mutex_);
  if (auto answer = known(c, key)) {
    lock.unlock();
    return on_tried(request, std::move(*answer), std::move(done));
  }
  // A reader beside a reader of ours: if the server would let it in, it shares that one's hold.
  const line_ref home = holder_of(key);
  const bool joins = home && home->lasts >= c.ttl;
  std::uint64_t serial = 0;
  const line_ref on = joins ? home : line_for(key, c.ttl);
  if (!on && room()) {
    spi::entry_request later = request;
    later.caller = spi::caller::must_not_block;
    wanting_.emplace_back(
        [this, request = std::move(later), done = std::move(done)](const result<void>& opened) mutable {
          if (!opened) return on_tried(request, opened.error(), std::move(done));
          try_now(request, std::move(done));
        });
    if (opening_ == 0) open_line();
    return;
  }
  if (!on) {
    lock.unlock();
    return on_tried(request, spi::entry_result(spi::busy{engine_.now() + looks_again}), std::move(done));
  }
  if (joins) {
    key_use& use = on->keys.at(key);
    ++use.looks;
    serial = use.serial;
  } else {
    serial = use_key(*on, key, c);
  }
  lock.unlock();
  ask_hold(on, request, joins ? mode::looks : mode::tries, serial,
           [this, request, done = std::move(done)](auto said) mutable {
             on_tried(request, std::move(said), std::move(done));
           });
}

std::uint64_t session_backend::use_key(line& on, const std::string& key, const spi::claim& c) {
  on.keys[key] = {c.access, c.kind, c.name, ++last_serial_};
  return last_serial_;
}

void session_backend::on_tried(const spi::entry_request& request, result<spi::entry_result> said,
                               spi::completion<spi::entry_result> done) {
  const auto& id = request.claim.id;
  const bool is_busy = said && std::holds_alternative<spi::busy>(*said);
  guard lock(mutex_);
  const auto found = waits_.find(id);
  wait_ref before = found == waits_.end() ? nullptr : found->second;
  if (before) before->trying = false;
  if (before && !is_busy && (said || said.error().code != errc::unavailable)) {
    before->over = true;
    std::erase(unplaced_, before);
    waits_.erase(found);
  }
  lock.unlock();
  if (!is_busy) {
    if (said)
      tickets_.settle(id);
    else if (said.error().code != errc::unavailable)
      tickets_.close(id);
    return done(std::move(said));
  }
  if (!request.queue) return done(std::move(said));
  if (!before) {
    // The caller's thread reads for all who asked the same connection, and is not to wait elsewhere meanwhile.
    spi::entry_request later = request;
    later.caller = spi::caller::must_not_block;
    return begin_wait(later, std::move(done));
  }
  done(spi::entry_result(spi::busy{engine_.now() + looks_again}));
  place_waits();
}

void session_backend::watch(const spi::claim& queued, spi::completion<spi::wake> done) {
  if (!ours(queued)) return store_->tables().watch(queued, std::move(done));
  tickets_.watch(queued.id, std::move(done));
}

void session_backend::leave(const spi::claim& c, spi::caller from, spi::completion<bool> done) {
  if (!ours(c)) return store_->tables().leave(c, from, std::move(done));
  guard lock(mutex_);
  if (const auto waiting = waits_.find(c.id); waiting != waits_.end()) {
    const wait_ref w = waiting->second;
    return leave_wait(w, lock, std::move(done));
  }
  const auto found = held_.find(c.id);
  if (found == held_.end()) {
    lock.unlock();
    tickets_.close(c.id);
    return done(false);
  }
  const hold gone = std::move(found->second);
  held_.erase(found);
  key_use& use = gone.on->keys.at(gone.key);
  // The session has to do with the key until it has answered: nobody is to be let in twice there meanwhile.
  const bool last = --use.holders == 0;
  std::int64_t how = last ? static_cast<std::int64_t>(use.access) : record_only;
  if (last && use.converting) how = whatever_it_has;
  lock.unlock();
  tickets_.close(c.id);
  drop(gone, how, from, std::move(done));
}

void session_backend::drop(const hold& gone, std::int64_t how, spi::caller from, spi::completion<bool> done) {
  arguments with;
  store_->add_key(gone.claim.name, with);
  with.add(how).add_bytes(gone.claim.name).add_bytes(bytes_of(gone.claim.id));
  gone.on->over->ask(
      store_->say().drop, std::move(with), from, session::patience::usual,
      [this, on = gone.on, key = gone.key, how, done = std::move(done)](const result<rows>& said) mutable {
        // Nobody knows whether it holds it still: its end is the end of that.
        if (!said) end_line(on, said.error());
        if (how != record_only) {
          const guard lock(mutex_);
          on->keys.erase(key);
        }
        place_waits();
        if (!said) return done(said.error());
        done(said->integer(0, 0) == 1);
      });
}

void session_backend::raise(const spi::claim& held, fencing_token floor, spi::caller from, spi::completion<bool> done) {
  store_->tables().raise(held, floor, from, std::move(done));
}

void session_backend::convert(const spi::claim& c, spi::access to, spi::caller from, spi::completion<bool> done) {
  if (!ours(c)) return store_->tables().convert(c, to, from, std::move(done));
  guard lock(mutex_);
  const auto found = held_.find(c.id);
  if (found == held_.end()) {
    lock.unlock();
    return done(not_ours());
  }
  const line_ref on = found->second.on;
  const std::string key = found->second.key;
  key_use& use = on->keys.at(key);
  const bool joined = use.holders > 1 || (to == spi::access::exclusive && use.looks != 0);
  if (use.access == to || joined || use.converting) {
    const bool already = use.access == to && !use.converting;
    lock.unlock();
    return done(already);
  }
  use.converting = true;
  lock.unlock();
  arguments with;
  store_->add_key(c.name, with);
  with.add_bytes(c.name).add_bytes(bytes_of(c.id)).add(static_cast<std::int64_t>(to));
  on->over->ask(store_->say().convert, std::move(with), from, session::patience::usual,
                [this, on, key, id = c.id, to, done = std::move(done)](const result<rows>& said) mutable {
                  // Half of it may have happened.
                  if (!said) {
                    end_line(on, said.error());
                    return done(not_ours());
                  }
                  const auto outcome = said->integer(0, 0);
                  guard relock(mutex_);
                  const auto still = held_.find(id);
                  if (still != held_.end()) {
                    on->keys.at(key).converting = false;
                    if (outcome == 1) on->keys.at(key).access = still->second.claim.access = to;
                  }
                  relock.unlock();
                  if (outcome < 0) return done(not_ours());
                  done(outcome == 1);
                });
}

void session_backend::count(const spi::count_request& request, spi::caller from,
                            spi::completion<spi::count_reply> done) {
  store_->tables().count(request, from, std::move(done));
}

void session_backend::load_cell(const std::string& name, spi::caller from, spi::completion<spi::cell_value> done) {
  store_->tables().load_cell(name, from, std::move(done));
}

void session_backend::exchange_cell(const std::string& name, std::uint64_t expected, std::string value,
                                    spi::owner_id id, spi::caller from, spi::completion<bool> done) {
  store_->tables().exchange_cell(name, expected, std::move(value), id, from, std::move(done));
}

void session_backend::admit(const std::string& name, fencing_token token, spi::caller from,
                            spi::completion<fencing_token> done) {
  store_->tables().admit(name, token, from, std::move(done));
}

}  // namespace holdfast::sql
