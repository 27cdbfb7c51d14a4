#include "election.hpp"

#include <algorithm>

// How an election ends, and what becomes of the votes meanwhile.

namespace holdfast::redis {

void election::drop(std::size_t i) {
  votes_.clear(i);
  links_[i].known = false;
  links_[i].unwanted = false;
  links_[i].late = links_[i].flights > 0;
  ++links_[i].dropping;
  ++links_[i].attempt;
  // Nobody waits for one that does not answer.
  const unsigned purge = nodes_[i]->silent() ? 0 : purge_;
  if (purge != 0) ++dropping_;
  nodes_[i]->asked();
  later([self = shared_from_this(), i, purge] {
    self->nodes_[i]->store().leave(self->claim_, spi::caller::must_not_block,
                                   [self, i, purge](const result<bool>& said) {
                                     self->nodes_[i]->answered(said ? std::error_code() : said.error().code);
                                     self->locked([&] { self->on_dropped(i, purge, said); });
                                   });
  });
}

void election::on_dropped(std::size_t i, unsigned purge, const result<bool>& said) {
  --links_[i].dropping;
  if (!said && said.error().code == errc::unavailable) links_[i].poisoned = true;
  ask_again(i);
  if (purge != purge_) return;
  --dropping_;
  if (said) {
    ++dropped_;
    auto& end = links_[i].end;
    if (end != ending::held) end = *said ? ending::held : ending::gone;
  } else {
    drop_failure_ = said.error();
  }
  // A majority that is free is all the next one needs. The rest follows.
  if (dropping_ == 0 || dropped_ >= votes_.need())
    if (auto then = std::exchange(when_dropped_, {})) later(std::move(then));
  conclude_leaving();
}

/// It was held to the end if a majority had it. Who does not answer may have had it.
void election::conclude_leaving() {
  if (!leaving_) return;
  const auto ended = [this](ending how) {
    return static_cast<std::size_t>(
        std::count_if(links_.begin(), links_.end(), [how](const connection& c) { return c.end == how; }));
  };
  const auto held = ended(ending::held);
  const auto unheard = ended(ending::unheard);
  const bool lost = held + unheard < votes_.need();
  const bool more =
      dropping_ > 0 || std::any_of(links_.begin(), links_.end(), [](const connection& c) { return c.unwanted; });
  if (held < votes_.need() && !lost && more) return;
  const bool nobody = unheard > 0 && held + ended(ending::gone) == 0;
  later([done = std::move(leaving_), lost, nobody, why = drop_failure_]() mutable {
    if (!nobody) return done(!lost);
    done(why.value_or(failure{errc::unavailable, "no server that has it answers; it ends with its ttl there"}));
  });
  leaving_ = {};
}

void election::drop_all() {
  ++purge_;
  dropping_ = 0;
  dropped_ = 0;
  drop_failure_.reset();
  for (std::size_t i = 0; i < votes_.size(); ++i) {
    links_[i].ask_again = false;
    links_[i].end = links_[i].known ? ending::unheard : ending::none;
    if (!links_[i].known) continue;
    if (links_[i].unsent == 0) {
      drop(i);
    } else {
      links_[i].unwanted = true;
      ++links_[i].attempt;
      votes_.clear(i);
    }
  }
  if (dropping_ > 0) return;
  if (auto then = std::exchange(when_dropped_, {})) later(std::move(then));
}

bool election::closing() const {
  const guard lock(mutex_);
  return closed_ &&
         std::any_of(links_.begin(), links_.end(), [](const connection& c) { return c.flights > 0 || c.dropping > 0; });
}

void election::leave(spi::completion<bool> done) {
  locked([&] {
    closed_ = true;
    won_.reset();
    leaving_ = std::move(done);
    if (watching_) look();
    drop_all();
    conclude_leaving();
  });
}

void election::suspect_all() {
  const guard lock(mutex_);
  for (auto& link : links_) link.known = true;
}

bool election::lose(std::size_t node) {
  bool over = false;
  locked([&] {
    if (votes_.at(node) == seat::asked) {
      // The answer that is under way is older.
      ++links_[node].attempt;
      votes_.fail(node, {errc::unavailable, nodes_[node]->shown() + " took it back"});
    }
    if (votes_.at(node) == seat::granted) votes_.clear(node);
    over = won_ && votes_.votes(engine_.now()) < votes_.need();
  });
  return over;
}

std::vector<std::size_t> election::voters() const {
  const guard lock(mutex_);
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < votes_.size(); ++i)
    if (votes_.at(i) == seat::granted) all.push_back(i);
  return all;
}

bool election::renewed(std::size_t node, const spi::renewal_outcome& outcome) {
  const guard lock(mutex_);
  if (votes_.at(node) != seat::granted) return false;
  if (outcome.what == spi::renewal::lost) votes_.clear(node);
  if (outcome.what != spi::renewal::renewed) return false;
  auto grant = votes_.grant_of(node);
  grant.expires = outcome.expires;
  votes_.grant(node, grant);
  return true;
}

void election::raise(fencing_token floor, spi::completion<bool> done) {
  struct tally {
    std::mutex mutex;
    std::size_t raised = 0;
    std::size_t left = 0;
    failure why{errc::lost, "the servers do not know this lease any more"};
    spi::completion<bool> done;
  };
  const auto voters = this->voters();
  auto all = std::make_shared<tally>();
  all->left = voters.size();
  all->done = std::move(done);
  if (voters.size() < votes_.need()) return all->done(all->why);
  for (const std::size_t i : voters) {
    nodes_[i]->asked();
    nodes_[i]->store().raise(claim_, floor, spi::caller::must_not_block,
                             [self = shared_from_this(), i, all](const result<bool>& said) {
                               self->nodes_[i]->answered(said ? std::error_code() : said.error().code);
                               guard lock(all->mutex);
                               --all->left;
                               all->raised += said ? 1 : 0;
                               if (!said) all->why = said.error();
                               const bool enough = all->raised >= self->votes_.need();
                               if (!all->done || (!enough && all->left > 0)) return;
                               auto tell = std::exchange(all->done, {});
                               const failure why = all->why;
                               lock.unlock();
                               if (enough) return tell(true);
                               tell(why);
                             });
  }
}

}  // namespace holdfast::redis
