#include "refusals.hpp"
#include "session_backend.hpp"

#include <algorithm>
#include <utility>

// The sessions: how they are made, chosen, rested and ended.

namespace holdfast::sql {

using namespace std::chrono_literals;

session_backend::line_ref session_backend::holder_of(const std::string& key) const {
  for (const auto& l : lines_) {
    const auto use = l->keys.find(key);
    if (use != l->keys.end() && use->second.holders != 0) return l;
  }
  return nullptr;
}

/// To try with: one that does not wait, nor has to do with this key already, for within a session the server lets one
/// in twice; and that is ended for being silent when a claim with this ttl is over, and not before or long after.
session_backend::line_ref session_backend::line_for(const std::string& key, std::chrono::nanoseconds ttl) const {
  line_ref empty;
  line_ref longer;
  for (const auto& l : lines_) {
    if (l->waits || l->keys.contains(key)) continue;
    if (l->keys.empty()) {
      if (!empty || l->first) empty = l;
    } else if (store_->holds_many()) {
      if (l->lasts == std::max<std::chrono::nanoseconds>(ttl, 1s)) return l;
      if (l->lasts > ttl) longer = l;
    }
  }
  if (empty) return empty;
  return room() ? nullptr : longer;
}

/// To wait with. The first is not for that, if it can hold many.
session_backend::line_ref session_backend::idle_line() const {
  for (const auto& l : lines_)
    if (!l->waits && l->keys.empty() && !(l->first && store_->holds_many())) return l;
  return nullptr;
}

void session_backend::open_line() {
  ++opening_;
  auto fresh = std::make_shared<line>();
  const std::weak_ptr<line> weak = fresh;
  session_events tell{[this](std::string_view letter) { on_letter(letter); },
                      [this, weak](const failure& why) {
                        if (const auto which = weak.lock()) end_line(which, why);
                      }};
  store_->open(std::move(tell), [this, fresh](auto made) { on_opened(fresh, std::move(made)); });
}

void session_backend::on_opened(const line_ref& fresh, result<std::shared_ptr<session>> made) {
  guard lock(mutex_);
  --opening_;
  if (made && fresh->gone) made = failure{errc::unavailable, "the session ended as soon as it was made"};
  if (made) {
    fresh->over = std::move(*made);
    fresh->used = engine_.now();
    fresh->first = std::none_of(lines_.begin(), lines_.end(), [](const auto& l) { return l->first; });
    fresh->first ? lines_.push_front(fresh) : lines_.push_back(fresh);
  }
  auto wanting = std::exchange(wanting_, {});
  lock.unlock();
  if (!made) engine_.log(log_level::warning, made.error().detail);
  const result<void> outcome = made ? result<void>() : result<void>(made.error());
  for (auto& go_on : wanting) go_on(outcome);
  // Without room at the server those who wait look now and then: the sessions there are may hold what they want.
  if (made) place_waits();
}

/// It is over, and with it all that it held.
void session_backend::end_line(const line_ref& which, const failure& why) {
  std::vector<spi::owner_id> lost;
  guard lock(mutex_);
  if (std::exchange(which->gone, true)) return;
  std::erase(lines_, which);
  for (auto one = held_.begin(); one != held_.end();) {
    if (one->second.on != which) {
      ++one;
      continue;
    }
    lost.push_back(one->first);
    one = held_.erase(one);
  }
  const auto over = which->over;
  lock.unlock();
  if (!lost.empty()) engine_.log(log_level::warning, "a session that held locks has ended: " + why.detail);
  if (over) over->close();  // whoever waits for an answer of it is told
  for (const auto& id : lost) engine_.lost(id, loss::session_ended);
  place_waits();
}

void session_backend::on_letter(std::string_view letter) {
  if (!letter.starts_with("e ")) return;
  const spi::owner_id id = id_of(letter.substr(2));
  // The engine leaves what it lost, and that frees it.
  engine_.lost(id, loss::taken);
}

/// Now and then, as long as there is a session that the server would end for being idle.
void session_backend::tend() {
  auto soonest = std::chrono::nanoseconds::max();
  for (const auto& l : lines_)
    if (l->lasts != 0ns) soonest = std::min(soonest, l->lasts);
  if (soonest == std::chrono::nanoseconds::max() || std::exchange(tended_, true)) return;
  engine_.at(engine_.now() + soonest / 4, [this] { on_time(); });
}

void session_backend::on_time() {
  std::vector<line_ref> idle;
  line_ref rests;
  guard lock(mutex_);
  tended_ = false;
  for (const auto& l : lines_) {
    if (l->waits || !l->keys.empty() || l->lasts == 0ns || engine_.now() - l->used < l->lasts / 4) continue;
    l->waits = true;  // nobody is to use it meanwhile
    if (l->first) {
      rests = l;
      l->lasts = 0ns;
    } else {
      idle.push_back(l);
    }
  }
  tend();
  lock.unlock();
  if (rests)
    rests->over->ask(store_->say().rest, {}, spi::caller::must_not_block, session::patience::usual,
                     [this, rests](const result<rows>& said) {
                       if (!said) return end_line(rests, said.error());
                       {
                         const guard relock(mutex_);
                         rests->waits = false;
                       }
                       place_waits();
                     });
  for (const auto& one : idle) end_line(one, {errc::unavailable, "not needed any more"});
}

}  // namespace holdfast::sql
