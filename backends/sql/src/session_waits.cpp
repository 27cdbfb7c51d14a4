#include "refusals.hpp"
#include "session_backend.hpp"

#include <utility>

// Claims that wait at the server, each on a session of its own.

namespace holdfast::sql {

using namespace std::chrono_literals;

namespace {

// A wait that is over sooner is seen by nobody, and its caller is not told that it waits.
constexpr auto lasting = 20ms;

bool was_cancelled(const failure& why) { return why.detail.find("57014") != std::string::npos; }

}  // namespace

void session_backend::begin_wait(const spi::entry_request& request, spi::completion<spi::entry_result> done) {
  auto w = std::make_shared<wait>();
  w->request = request;
  w->request.caller = spi::caller::must_not_block;
  w->since = engine_.now();
  w->first = std::move(done);
  guard lock(mutex_);
  waits_[request.claim.id] = w;
  unplaced_.push_back(w);
  lock.unlock();
  engine_.at(w->since + lasting, [this, w] { on_lasting(w); });
  // This thread may be used for its own wait, but only here and now, and to the end or not at all.
  place_waits(w, request.caller == spi::caller::waits ? spi::caller::waits : spi::caller::must_not_block);
}

/// Those without a session get one, the first in line first.
void session_backend::place_waits(const wait_ref& mine, spi::caller from) {
  for (;;) {
    guard lock(mutex_);
    const auto next = std::find_if(unplaced_.begin(), unplaced_.end(), [](const auto& w) { return !w->trying; });
    if (next == unplaced_.end()) return;
    const line_ref on = idle_line();
    if (!on) {
      if (room() && opening_ < unplaced_.size()) open_line();
      return;
    }
    const wait_ref w = *next;
    const spi::claim& c = w->request.claim;
    unplaced_.erase(next);
    w->on = on;
    const auto who = w == mine ? from : spi::caller::must_not_block;
    w->blocks = who == spi::caller::waits;
    on->waits = true;
    w->serial = use_key(*on, store_->key_of(c.name), c);
    lock.unlock();
    ask_wait(w, who);
  }
}

void session_backend::ask_wait(const wait_ref& w, spi::caller from) {
  spi::entry_request request = w->request;
  request.caller = from;
  ask_hold(w->on, request, mode::waits, w->serial,
           [this, w](result<spi::entry_result> said) { on_waited(w, std::move(said)); });
}

void session_backend::on_waited(const wait_ref& w, result<spi::entry_result> said) {
  guard lock(mutex_);
  if (w->left) {
    lock.unlock();
    return on_unwanted(w, said);
  }
  const bool granted = said && std::holds_alternative<spi::granted>(*said);
  if (said) w->on->waits = false;  // otherwise it is given back first
  const bool late = granted && engine_.now() - w->since > w->request.claim.ttl / 10;
  lock.unlock();
  if (late) return confirm(w);
  finish(w, std::move(said));
}

/// It was asked for long ago, and its time counts from when it was given: that is made sure of.
void session_backend::confirm(const wait_ref& w) {
  renew_from(spi::caller::must_not_block, {w->request.claim},
             [this, w](const result<std::vector<spi::renewal_outcome>>& said) {
               const spi::owner_id& id = w->request.claim.id;
               guard lock(mutex_);
               const auto found = held_.find(id);
               const bool good = said && said->front().what == spi::renewal::renewed && found != held_.end();
               if (good) found->second.grant.expires = said->front().expires;
               auto outcome = good ? result<spi::entry_result>(spi::entry_result(found->second.grant))
                                   : result<spi::entry_result>(failure{errc::unavailable, "the session ended"});
               lock.unlock();
               // Nobody knows what there is of it: with the session nothing is.
               if (!good) end_line(w->on, {errc::unavailable, "a lock that was waited for could not be made sure of"});
               finish(w, std::move(outcome));
             });
}

void session_backend::finish(const wait_ref& w, result<spi::entry_result> outcome) {
  const spi::owner_id& id = w->request.claim.id;
  guard lock(mutex_);
  w->over = true;
  waits_.erase(id);
  auto first = std::exchange(w->first, nullptr);
  auto left = std::exchange(w->left, nullptr);
  const bool noted = w->noted;
  lock.unlock();
  if (noted)
    store_->aside().ask(store_->say().end_wait, arguments().add_bytes(w->request.claim.name).add_bytes(bytes_of(id)),
                        spi::caller::must_not_block, [](const result<rows>&) {});
  if (left) {  // it was given up while it was made sure of
    spi::claim c = w->request.claim;
    return leave(c, spi::caller::must_not_block, std::move(left));
  }
  if (first) {
    if (outcome && std::holds_alternative<spi::granted>(*outcome))
      tickets_.settle(id);
    else if (!outcome && outcome.error().code != errc::unavailable)
      tickets_.close(id);
    first(std::move(outcome));
  } else if (!outcome && outcome.error().code != errc::unavailable) {
    tickets_.fail(id, outcome.error());
  } else if (outcome && std::holds_alternative<spi::granted>(*outcome)) {
    tickets_.wake(id, std::get<spi::granted>(*outcome));
  } else {
    // Somebody has it whom the server does not know as a session, or the session broke.
    engine_.at(engine_.now() + looks_again, [this, id] { tickets_.wake(id, spi::look_again{}); });
  }
  place_waits();
}

/// It really waits: whoever looks is to see it, and its caller is told.
void session_backend::on_lasting(const wait_ref& w) {
  guard lock(mutex_);
  if (w->over) return;
  spi::completion<spi::entry_result> first;
  if (!w->blocks) first = std::exchange(w->first, nullptr);
  const bool placed = w->on != nullptr;
  const bool notes = placed && !w->left && !std::exchange(w->noted, true);
  const line_ref on = w->on;
  lock.unlock();
  if (first) first(spi::entry_result(spi::busy{engine_.now() + (placed ? makes_sure : looks_again)}));
  if (!placed) {
    engine_.at(engine_.now() + lasting, [this, w] { on_lasting(w); });
    return;
  }
  if (!notes) return;
  const spi::claim& c = w->request.claim;
  arguments with;
  with.add_bytes(c.name).add_bytes(bytes_of(c.id)).add(static_cast<std::int64_t>(c.kind));
  with.add(static_cast<std::int64_t>(c.access)).add(microseconds(engine_.now() - w->since));
  with.add(on->over->number()).add_bytes(holder_).add(on->over->process());
  store_->aside().ask(store_->say().note_wait, std::move(with), spi::caller::must_not_block,
                      [this, w](const result<rows>& said) {
                        if (!said || said->integer(0, 0) != 0) return;
                        // The server is slow today: its place in line is not there yet, and so not seen.
                        {
                          const guard relock(mutex_);
                          if (w->over) return;
                          w->noted = false;
                        }
                        engine_.at(engine_.now() + lasting, [this, w] { on_lasting(w); });
                      });
}

void session_backend::leave_wait(const wait_ref& w, guard& lock, spi::completion<bool> done) {
  const spi::owner_id id = w->request.claim.id;
  if (!w->on || w->over) {
    w->over = true;
    waits_.erase(id);
    std::erase(unplaced_, w);
    lock.unlock();
    tickets_.close(id);
    return done(true);
  }
  auto before = std::exchange(w->left, std::move(done));
  const line_ref on = w->on;
  const bool asked = on->waits;
  lock.unlock();
  tickets_.close(id);
  if (before) before(true);
  if (!asked) return;  // granted, and about to be told: finish() sees that nobody wants it
  arguments with;
  with.add(on->over->process());
  const auto patience = engine_.options().request_timeout;
  store_->aside().ask(store_->say().cancel, std::move(with), spi::caller::must_not_block,
                      [this, w, on, patience](const result<rows>& said) {
                        if (!said) return end_line(on, said.error());
                        engine_.at(engine_.now() + patience, [this, w, on] {
                          guard relock(mutex_);
                          if (w->over) return;
                          relock.unlock();
                          end_line(on, {errc::unavailable, "a wait could not be ended"});
                        });
                      });
}

/// Who waited has given up, and what it waited with was cancelled.
void session_backend::on_unwanted(const wait_ref& w, const result<spi::entry_result>& said) {
  const spi::owner_id& id = w->request.claim.id;
  guard lock(mutex_);
  w->over = true;
  waits_.erase(id);
  held_.erase(id);
  auto left = std::exchange(w->left, nullptr);
  auto first = std::exchange(w->first, nullptr);
  const bool noted = w->noted;
  lock.unlock();
  // Cancelled or not: if it was not the cancellation that ended it, that may hit whatever is asked next.
  if (said || !was_cancelled(said.error())) end_line(w->on, {errc::unavailable, "given up"});
  if (noted)
    store_->aside().ask(store_->say().end_wait, arguments().add_bytes(w->request.claim.name).add_bytes(bytes_of(id)),
                        spi::caller::must_not_block, [](const result<rows>&) {});
  if (first) first(failure{errc::cancelled, "given up"});
  if (left) left(true);
  place_waits();
}

}  // namespace holdfast::sql
