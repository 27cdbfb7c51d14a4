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
  auto& link = links_[i];
  if (link.poisoned) return votes_.fail(i, {errc::unavailable, nodes_[i]->shown() + " did not answer in time"});
  if (auto why = nodes_[i]->refusal(claim_.ttl)) {
    votes_.fail(i, std::move(*why));
    return ask_later(i);
  }
  // One that was silent is asked all the same, but nobody waits for it if the others are enough.
  if (nodes_[i]->silent() && others_answer())
    votes_.fail(i, {errc::unavailable, nodes_[i]->shown() + " does not answer"});
  else
    votes_.ask(i);
  link.unwanted = false;
  // Overtaken by the question, what was sent before would end what the question gets.
  link.ask_again = link.dropping > 0 || link.flights > 0;
  if (link.ask_again) return;
  link.known = true;
  ++link.flights;
  ++link.unsent;
  nodes_[i]->asked();
  later([self = shared_from_this(), i, request = request_, attempt = ++link.attempt] {
    self->nodes_[i]->store().enter_at(request, self->place_, [self, i, attempt](result<spi::entry_result> said) {
      self->nodes_[i]->answered(said ? std::error_code() : said.error().code);
      self->locked([&] { self->on_answer(i, attempt, std::move(said)); });
    });
    self->locked([&] { self->sent(i); });
  });
}

/// What is sent from here on comes after it.
void election::sent(std::size_t i) {
  auto& link = links_[i];
  if (--link.unsent > 0 || !link.known || !(closed_ || link.unwanted)) return;
  drop(i);
  // A silent one's answer is not waited for.
  conclude_leaving();
}

bool election::others_answer() const {
  const auto silent = std::count_if(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->silent(); });
  return nodes_.size() - static_cast<std::size_t>(silent) >= votes_.need();
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

/// A question has come back. A script that the server did not know was sent once more, after what followed it: a claim
/// that was dropped meanwhile may be there again.
void election::flown(std::size_t i) {
  auto& link = links_[i];
  if (--link.flights > 0) return;
  if (std::exchange(link.late, false)) return drop(i);
  ask_again(i);
}

void election::ask_again(std::size_t i) {
  auto& link = links_[i];
  if (closed_ || link.dropping > 0 || link.flights > 0 || !std::exchange(link.ask_again, false)) return;
  ask(i);
  evaluate();
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
    if (!request_.queue) links_[i].known = false;  // nothing of it is there
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
    self->nodes_[i]->store().watch(self->claim_,
                                   [self, i](const result<spi::wake>&) { self->locked([&] { self->on_wake(i); }); });
  });
}

/// There may be something new. What it is only an answer tells: a grant that is told in passing may be gone again.
void election::on_wake(std::size_t i) {
  links_[i].listening = false;
  if (!closed_) look();
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
  auto again = std::min(votes_.look_again(), engine_.now() + 1s);
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
  if (waits) {
    later([&engine = engine_, line = "redlock: '" + claim_.name + "' waits: " + why.detail] {
      engine.log(log_level::warning, line);
    });
  }
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
  ++links_[i].unsent;
  nodes_[i]->asked();
  later([self = shared_from_this(), i, grant = votes_.grant_of(i), attempt = ++links_[i].attempt] {
    self->nodes_[i]->store().yield(self->claim_, self->place_, [self, i, grant, attempt](const result<bool>& kept) {
      self->nodes_[i]->answered(kept ? std::error_code() : kept.error().code);
      self->locked([&] {
        self->flown(i);
        if (!self->closed_ && attempt == self->links_[i].attempt) self->on_yielded(i, grant, kept);
      });
    });
    self->locked([&] { self->sent(i); });
  });
}

void election::on_yielded(std::size_t i, const spi::granted& grant, const result<bool>& kept) {
  if (!kept) {
    links_[i].poisoned = kept.error().code == errc::unavailable;
    votes_.fail(i, {errc::unavailable, kept.error().detail});
    if (!links_[i].poisoned) look();  // somebody took it: it is asked for again
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
  if (votes_.votes_with(newest, now) >= votes_.need()) return win(now);
  raising_ = true;
  for (std::size_t i = 0; i < votes_.size(); ++i) {
    if (votes_.at(i) != seat::granted || votes_.token(i) == newest) continue;
    ++raises_;
    ++links_[i].flights;
    ++links_[i].unsent;
    nodes_[i]->asked();
    const fencing_token floor(newest.value() + votes_.grant_of(i).tokens - 1);
    later([self = shared_from_this(), i, newest, floor] {
      self->nodes_[i]->store().raise(self->claim_, floor, spi::caller::must_not_block,
                                     [self, i, newest](const result<bool>& done) {
                                       self->nodes_[i]->answered(done ? std::error_code() : done.error().code);
                                       self->locked([&] { self->on_raised(i, newest, done); });
                                     });
      self->locked([&] { self->sent(i); });
    });
  }
}

void election::on_raised(std::size_t i, fencing_token to, const result<bool>& done) {
  flown(i);
  --raises_;
  if (closed_) return;
  if (!done)
    votes_.fail(i, {errc::unavailable, done.error().detail});
  else if (votes_.at(i) == seat::granted && votes_.token(i) < to)
    votes_.raise(i, to);
  if (won_ || !raising_) return;
  const auto now = engine_.now();
  if (votes_.votes(now) >= votes_.need() && votes_.votes_with(votes_.newest(now), now) >= votes_.need())
    return win(now);
  if (raises_ > 0) return;
  raising_ = false;
  evaluate();
  // Not by a question of the engine's: it has to ask again.
  if (!won_ && !raising_ && !entering_) look();
}

void election::win(spi::time_point now) {
  raising_ = false;
  won_ = votes_.outcome(now);
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

}  // namespace holdfast::redis
