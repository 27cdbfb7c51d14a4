#include "election.hpp"

#include <algorithm>
#include <random>

namespace holdfast::redis {

using namespace std::chrono_literals;

namespace {

/// How long to wait before votes that are split are yielded once more: somebody with an earlier place may have come.
std::chrono::nanoseconds pause_after(unsigned splits) {
  thread_local std::minstd_rand random{std::random_device{}()};
  const std::chrono::nanoseconds least = 2ms * (1U << std::min(splits, 8U));
  return least + std::chrono::nanoseconds(std::uniform_int_distribution<std::int64_t>(0, least.count())(random));
}

}  // namespace

election::election(redlock_nodes& nodes, spi::runtime& engine, spi::claim claim, std::uint64_t place)
    : nodes_(nodes),
      engine_(engine),
      claim_(std::move(claim)),
      place_(place),
      votes_(nodes.size()),
      links_(nodes.size()) {}

template <class Step>
void election::locked(Step step) {
  std::vector<task> tasks;
  {
    const guard lock(mutex_);
    step();
    tasks.swap(tasks_);
  }
  // They may come back here at once, with what they then put off.
  for (auto& next : tasks) next();
}

void election::enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) {
  locked([&] {
    request_ = request;
    request_.caller = spi::caller::must_not_block;
    request_.claim.order = ordering::any;
    if (won_) return later([done = std::move(done), got = *won_]() mutable { done(spi::entry_result(got)); });
    entering_ = std::move(done);
    looked_ = false;
    for (std::size_t i = 0; i < votes_.size(); ++i) {
      const bool ours = votes_.at(i) == seat::granted && votes_.current(i, engine_.now());
      if (!ours && votes_.at(i) != seat::asked) ask(i);
    }
    evaluate();
  });
}

void election::ask(std::size_t i) {
  if (auto why = nodes_[i]->refusal(claim_.ttl)) {
    votes_.fail(i, std::move(*why));
    return ask_later(i);
  }
  votes_.ask(i);
  auto& link = links_[i];
  link.unwanted = false;
  // Overtaken by the question, the leave before it would end what the question gets.
  link.ask_again = link.dropping;
  if (link.dropping) return;
  link.known = true;
  ++link.flights;
  nodes_[i]->asked();
  later([self = shared_from_this(), i, request = request_, attempt = ++link.attempt] {
    self->nodes_[i]->store().enter_at(request, self->place_, [self, i, attempt](result<spi::entry_result> said) {
      self->nodes_[i]->answered(said ? std::error_code() : said.error().code);
      self->locked([&] { self->on_answer(i, attempt, std::move(said)); });
    });
  });
}

/// One that was restarted is asked when it votes again, if the others have not settled it by then.
void election::ask_later(std::size_t i) {
  const auto from = nodes_[i]->votes_from(claim_.ttl);
  if (from <= engine_.now() || std::exchange(links_[i].timer, true)) return;
  later([self = shared_from_this(), i, from] {
    self->engine_.at(from, [weak = self->weak_from_this(), i] {
      const auto alive = weak.lock();
      if (!alive) return;
      alive->locked([&] {
        alive->links_[i].timer = false;
        if (!alive->entering_ || alive->votes_.at(i) != seat::failed) return;
        alive->ask(i);
        alive->evaluate();
      });
    });
  });
}

/// A question has come back. What was put off until then is done now.
void election::flown(std::size_t i) {
  auto& link = links_[i];
  if (--link.flights > 0 || !link.known || !(closed_ || link.unwanted)) return;
  if (std::exchange(link.awaited, false)) --dropping_;  // it counts as dropping from here on
  drop(i);
}

void election::on_answer(std::size_t i, std::uint64_t attempt, result<spi::entry_result> said) {
  flown(i);
  if (closed_ || attempt != links_[i].attempt) return;
  if (!said) {
    votes_.fail(i, said.error());
  } else if (const auto* got = std::get_if<spi::granted>(&*said)) {
    on_vote(i, *got);
  } else {
    votes_.queue(i, std::get<spi::busy>(*said).look_again);
    if (won_)
      drop(i);
    else if (request_.queue)
      listen(i);
  }
  evaluate();
}

void election::on_vote(std::size_t i, const spi::granted& grant) {
  ++links_[i].attempt;
  // The connection was made for this very question, and the server turned out to be a new one.
  if (auto why = nodes_[i]->votes_from(claim_.ttl) > engine_.now() ? nodes_[i]->refusal(claim_.ttl) : std::nullopt) {
    drop(i);
    return votes_.fail(i, std::move(*why));
  }
  votes_.grant(i, grant);
}

void election::listen(std::size_t i) {
  if (std::exchange(links_[i].listening, true)) return;
  later([self = shared_from_this(), i] {
    self->nodes_[i]->store().watch(
        self->claim_, [self, i](const result<spi::wake>& why) { self->locked([&] { self->on_wake(i, why); }); });
  });
}

void election::on_wake(std::size_t i, const result<spi::wake>& why) {
  links_[i].listening = false;
  const auto* got = why ? std::get_if<spi::granted>(&*why) : nullptr;
  if (closed_) return;
  if (got == nullptr) return look();
  on_vote(i, *got);
  evaluate();
}

void election::look() {
  looked_ = true;
  if (!watching_ || won_) return;
  looked_ = false;
  later([done = std::move(watching_)]() mutable { done(spi::wake(spi::look_again{})); });
  watching_ = {};
}

void election::watch(spi::completion<spi::wake> done) {
  locked([&] {
    if (won_) return later([done = std::move(done), got = *won_]() mutable { done(spi::wake(got)); });
    watching_ = std::move(done);
    if (looked_ || closed_) look();
  });
}

void election::evaluate() {
  if (won_ || closed_ || raising_) return;
  const auto verdict = votes_.judge(engine_.now());
  if (verdict == ballot::verdict::majority) return raise_tokens();
  if (!entering_ || verdict == ballot::verdict::open) return;
  if (verdict == ballot::verdict::broken) return conclude_broken();
  conclude_busy();
}

void election::conclude_busy() {
  if (!request_.queue) {
    // The caller's next try must not find these votes in its way.
    when_dropped_ = [done = std::move(entering_), now = engine_.now()]() mutable {
      done(spi::entry_result(spi::busy{now}));
    };
    entering_ = {};
    return drop_all();
  }
  auto again = votes_.look_again();
  if (votes_.votes(engine_.now()) > 0) {
    for (std::size_t i = 0; i < votes_.size(); ++i)
      if (votes_.at(i) == seat::granted) yield(i);
    again = std::min(again, engine_.now() + pause_after(splits_++));
  }
  later([done = std::move(entering_), again]() mutable { done(spi::entry_result(spi::busy{again})); });
  entering_ = {};
}

void election::conclude_broken() {
  const failure why = votes_.why();
  // Restarted servers come back by themselves: whoever can wait is told how long.
  auto votes_again = spi::time_point::max();
  for (const auto& node : nodes_)
    if (const auto from = node->votes_from(claim_.ttl); from > engine_.now()) votes_again = std::min(votes_again, from);
  const bool waits = request_.queue && why.code == errc::unavailable && votes_again != spi::time_point::max();
  if (waits) engine_.log(log_level::warning, "redlock: '" + claim_.name + "' waits: " + why.detail);
  when_dropped_ = [done = std::move(entering_), why, waits, votes_again]() mutable {
    if (waits) return done(spi::entry_result(spi::busy{votes_again}));
    done(why);
  };
  entering_ = {};
  drop_all();
}

void election::yield(std::size_t i) {
  votes_.ask(i);
  ++links_[i].flights;
  nodes_[i]->asked();
  later([self = shared_from_this(), i, grant = votes_.grant_of(i), attempt = ++links_[i].attempt] {
    self->nodes_[i]->store().yield(self->claim_, self->place_, [self, i, grant, attempt](const result<bool>& kept) {
      self->nodes_[i]->answered(kept ? std::error_code() : kept.error().code);
      self->locked([&] {
        self->flown(i);
        if (!self->closed_ && attempt == self->links_[i].attempt) self->on_yielded(i, grant, kept);
      });
    });
  });
}

void election::on_yielded(std::size_t i, const spi::granted& grant, const result<bool>& kept) {
  if (!kept) {
    votes_.fail(i, kept.error());
  } else if (*kept) {
    votes_.grant(i, grant);
  } else {
    votes_.queue(i, engine_.now() + 1s);
    listen(i);
  }
  evaluate();
}

/// The newest token goes to a majority before the claim is handed out: any later majority has one of them in it.
void election::raise_tokens() {
  const auto now = engine_.now();
  const auto newest = votes_.newest(now);
  if (votes_.votes_with(newest, now) >= votes_.need()) return win();
  raising_ = true;
  for (std::size_t i = 0; i < votes_.size(); ++i) {
    if (votes_.at(i) != seat::granted || votes_.token(i) == newest) continue;
    ++raises_;
    ++links_[i].flights;
    nodes_[i]->asked();
    const fencing_token floor(newest.value() + votes_.grant_of(i).tokens - 1);
    later([self = shared_from_this(), i, newest, floor] {
      self->nodes_[i]->store().raise(self->claim_, floor, spi::caller::must_not_block,
                                     [self, i, newest](const result<bool>& done) {
                                       self->nodes_[i]->answered(done ? std::error_code() : done.error().code);
                                       self->locked([&] { self->on_raised(i, newest, done); });
                                     });
    });
  }
}

void election::on_raised(std::size_t i, fencing_token to, const result<bool>& done) {
  flown(i);
  --raises_;
  if (closed_) return;
  if (!done)
    votes_.fail(i, done.error());
  else if (votes_.at(i) == seat::granted && votes_.token(i) < to)
    votes_.raise(i, to);
  if (won_ || !raising_) return;
  const auto now = engine_.now();
  if (votes_.votes(now) >= votes_.need() && votes_.votes_with(votes_.newest(now), now) >= votes_.need()) return win();
  if (raises_ > 0) return;
  raising_ = false;
  evaluate();
  // Not by a question of the engine's: it has to ask again.
  if (!won_ && !raising_ && !entering_) look();
}

void election::win() {
  raising_ = false;
  won_ = votes_.outcome(engine_.now());
  splits_ = 0;
  for (std::size_t i = 0; i < votes_.size(); ++i)
    if (votes_.at(i) == seat::queued) drop(i);
  if (entering_) {
    later([done = std::move(entering_), got = *won_]() mutable { done(spi::entry_result(got)); });
    entering_ = {};
  } else if (watching_) {
    later([done = std::move(watching_), got = *won_]() mutable { done(spi::wake(got)); });
    watching_ = {};
  }
}

void election::drop(std::size_t i) {
  votes_.clear(i);
  links_[i].known = false;
  links_[i].unwanted = false;
  links_[i].dropping = true;
  ++links_[i].attempt;
  ++dropping_;
  nodes_[i]->asked();
  later([self = shared_from_this(), i, purge = purge_] {
    self->nodes_[i]->store().leave(self->claim_, spi::caller::must_not_block,
                                   [self, i, purge](const result<bool>& said) {
                                     self->nodes_[i]->answered(said ? std::error_code() : said.error().code);
                                     self->locked([&] { self->on_dropped(i, purge, said); });
                                   });
  });
}

void election::on_dropped(std::size_t i, unsigned purge, const result<bool>& said) {
  links_[i].dropping = false;
  if (std::exchange(links_[i].ask_again, false) && !closed_) {
    ask(i);
    evaluate();
  }
  if (purge != purge_) return;
  --dropping_;
  if (said) ++dropped_;
  if (said && *said) any_dropped_ = true;
  if (!said) drop_failure_ = said.error();
  // A majority that is free is all the next one needs. The rest follows.
  if (dropping_ > 0 && dropped_ < votes_.need()) return;
  if (auto then = std::exchange(when_dropped_, {})) later(std::move(then));
  if (!leaving_) return;
  later([done = std::move(leaving_), any = any_dropped_, ok = dropped_ > 0, why = drop_failure_]() mutable {
    if (!ok && why) return done(*why);
    done(any);
  });
  leaving_ = {};
}

void election::drop_all() {
  ++purge_;
  dropping_ = 0;
  dropped_ = 0;
  for (std::size_t i = 0; i < votes_.size(); ++i) {
    if (!links_[i].known) continue;
    if (links_[i].flights == 0) {
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

void election::leave(spi::completion<bool> done) {
  locked([&] {
    closed_ = true;
    won_.reset();
    any_dropped_ = false;
    drop_failure_.reset();
    leaving_ = std::move(done);
    if (watching_) look();
    drop_all();
    // Those with a question under way are told after it; among them may be all that voted for us.
    for (auto& link : links_) {
      link.awaited = link.unwanted;
      if (link.awaited) ++dropping_;
    }
    if (dropping_ > 0 || !leaving_) return;
    later([done = std::move(leaving_)]() mutable { done(false); });
    leaving_ = {};
  });
}

void election::suspect_all() {
  const guard lock(mutex_);
  for (auto& link : links_) link.known = true;
}

bool election::lose(std::size_t node) {
  bool over = false;
  locked([&] {
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

void election::renewed(std::size_t node, const spi::renewal_outcome& outcome) {
  const guard lock(mutex_);
  if (votes_.at(node) != seat::granted) return;
  if (outcome.what == spi::renewal::lost) votes_.clear(node);
  if (outcome.what != spi::renewal::renewed) return;
  auto grant = votes_.grant_of(node);
  grant.expires = outcome.expires;
  votes_.grant(node, grant);
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
                               spi::completion<bool> tell;
                               {
                                 const guard lock(all->mutex);
                                 --all->left;
                                 all->raised += said ? 1 : 0;
                                 if (!said) all->why = said.error();
                                 if (all->done && (all->raised >= self->votes_.need() || all->left == 0))
                                   tell = std::move(all->done);
                               }
                               if (!tell) return;
                               if (all->raised >= self->votes_.need()) return tell(true);
                               tell(all->why);
                             });
  }
}

}  // namespace holdfast::redis
