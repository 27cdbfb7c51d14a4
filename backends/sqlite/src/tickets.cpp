#include "tickets.hpp"

#include "lock_table.hpp"

#include <algorithm>

namespace holdfast::sqlite {

std::optional<std::int64_t> tickets::number_of(const spi::owner_id& id) const {
  std::lock_guard lock(mutex_);
  const auto found = standing_.find(id);
  if (found == standing_.end()) return std::nullopt;
  return found->second.number;
}

void tickets::note(const spi::owner_id& id, std::int64_t number) {
  std::lock_guard lock(mutex_);
  ticket& t = standing_[id];
  if (t.number == number) return;
  t.number = number;
  t.news.reset();
}

void tickets::stand_behind(const spi::owner_id& id, neighbours ahead) {
  // The old ones are destroyed outside the lock: a peer waits for its callback, which comes here.
  std::lock_guard lock(mutex_);
  const auto found = standing_.find(id);
  if (found != standing_.end()) found->second.ahead.swap(ahead);
}

void tickets::strike(const spi::owner_id& id) {
  ticket gone;
  {
    std::lock_guard lock(mutex_);
    const auto found = standing_.find(id);
    if (found == standing_.end()) return;
    gone = std::move(found->second);
    standing_.erase(found);
  }
  if (gone.watch) gone.watch(spi::wake(spi::look_again{}));
}

void tickets::strike_silently(const spi::owner_id& id) {
  ticket gone;
  std::lock_guard lock(mutex_);
  const auto found = standing_.find(id);
  if (found == standing_.end()) return;
  gone = std::move(found->second);
  standing_.erase(found);
}

void tickets::watch(const spi::owner_id& id, spi::completion<spi::wake> done) {
  spi::wake news = spi::look_again{};
  spi::completion<spi::wake> earlier;
  ticket gone;
  {
    std::lock_guard lock(mutex_);
    const auto found = standing_.find(id);
    if (found != standing_.end()) {
      ticket& t = found->second;
      if (!t.news) {
        earlier = std::exchange(t.watch, std::move(done));
      } else {
        news = *std::exchange(t.news, std::nullopt);
        if (std::holds_alternative<spi::granted>(news)) {
          gone = std::move(t);
          standing_.erase(found);
        }
      }
    }
  }
  if (earlier) earlier(spi::wake(spi::look_again{}));
  if (done) done(news);
}

void tickets::tell(ticket& t, const spi::wake& what, spi::completion<spi::wake>& watch) {
  if (t.watch) watch = std::exchange(t.watch, nullptr);
  // A grant that is known is not forgotten over a mere "look again".
  else if (!t.news || std::holds_alternative<spi::granted>(what))
    t.news = what;
}

void tickets::deliver(const message& news, spi::time_point now) {
  if (news.what == message::kind::next) return;  // for threads that block
  spi::wake what = spi::look_again{};
  spi::completion<spi::wake> watch;
  ticket gone;
  {
    std::lock_guard lock(mutex_);
    const auto found = standing_.find(news.id);
    if (found == standing_.end() || found->second.number != news.ticket) return;
    if (news.what == message::kind::granted && to_time(news.expires) > now)
      what = spi::granted{news.token, news.tokens, to_time(news.expires)};
    tell(found->second, what, watch);
    if (watch && std::holds_alternative<spi::granted>(what)) {
      gone = std::move(found->second);
      standing_.erase(found);
    }
  }
  if (watch) watch(what);
}

void tickets::doubt(const spi::owner_id& id) {
  spi::completion<spi::wake> watch;
  {
    std::lock_guard lock(mutex_);
    const auto found = standing_.find(id);
    if (found == standing_.end()) return;
    found->second.number = 0;
    found->second.news.reset();
    tell(found->second, spi::look_again{}, watch);
  }
  if (watch) watch(spi::wake(spi::look_again{}));
}

void tickets::neighbour_died(session_id who) {
  std::vector<spi::completion<spi::wake>> woken;
  {
    std::lock_guard lock(mutex_);
    for (auto& [id, t] : standing_) {
      const bool mine = std::any_of(t.ahead.begin(), t.ahead.end(), [&](const auto& p) { return p->id() == who; });
      if (!mine) continue;
      spi::completion<spi::wake> watch;
      tell(t, spi::look_again{}, watch);
      if (watch) woken.push_back(std::move(watch));
    }
  }
  for (auto& watch : woken) watch(spi::wake(spi::look_again{}));
}

}  // namespace holdfast::sqlite
