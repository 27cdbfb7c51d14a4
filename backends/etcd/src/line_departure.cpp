#include "line_desk.hpp"

#include <charconv>

namespace holdfast::etcd {

namespace {

constexpr std::size_t most_spare = 4096;

}  // namespace

/// The server remembers every key there ever was until it is compacted, and goes past all of them whenever it looks at
/// the line: those of a shared_mutex, which have a number each, are used again.
std::uint64_t line_desk::number_for(const std::string& name) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = spare_.find(name);
    if (found != spare_.end()) {
      const auto number = found->second.back();
      found->second.pop_back();
      --spared_;
      if (found->second.empty()) spare_.erase(found);
      return number;
    }
  }
  return stamp();
}

/// Not where anything was sent that may yet be carried out.
void line_desk::spare_number(const ticket& t) {
  if (t.claim.kind != spi::kind::shared_mutex || t.may_come_late || t.tried_to_leave || !t.ghosts.empty()) return;
  const auto digits = std::string_view(t.key).substr(t.key.rfind('/') + 1);
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const std::lock_guard lock(mutex_);
  if (spared_ == most_spare) {
    spare_.clear();
    spared_ = 0;
  }
  spare_[t.claim.name].push_back(number);
  ++spared_;
}

void line_desk::leave(const ledger::page& t, spi::caller from, spi::completion<bool> done) {
  send_away(office_.depart(t, std::move(done)), from);
}

void line_desk::send_away(const departure& d, spi::caller from) {
  const ticket& t = *d->t;
  script s;
  if (t.revision != 0)
    s.created(t.key, t.revision);
  else
    s.holds(t.key, t.value);
  if (t.revision != 0 && t.writer_revision != 0) s.created(t.second_key, t.writer_revision);
  s.remove(t.key);
  if (!t.second_key.empty()) s.remove(t.second_key);
  for (const auto& ghost : t.ghosts) s.remove(ghost);
  office_.txn(s, from, [this, d](const auto& said) {
    // Guarded by its creation, it may be sent again.
    if (!said) return office_.unanswered(d, said.error(), [this, d] { send_away(d, spi::caller::must_not_block); });
    on_left(d, *said);
  });
}

void line_desk::on_left(const departure& d, const reply& said) {
  const auto& t = d->t;
  if (office_.tickets.find(t->claim.id) != t) {  // it was begun anew meanwhile
    if (d->done) d->done(true);
    return;
  }
  // One of the two may have been deleted by hand.
  if (!said.succeeded() && !t->second_key.empty()) t->may_come_late = true;
  if (said.succeeded() && t->idle_floor != 0) {
    script tidy;
    const auto key = office_.names.token(t->claim.name);
    tidy.modified(key, t->idle_floor).remove(key);
    office_.txn(tidy, spi::caller::must_not_block, [](const auto&) {});
  }
  // What is gone may have gone by a try that was not answered.
  const bool left = said.succeeded() || t->tried_to_leave;
  office_.close(t);
  if (said.succeeded()) spare_number(*t);
  if (d->done) d->done(left);
}

}  // namespace holdfast::etcd
