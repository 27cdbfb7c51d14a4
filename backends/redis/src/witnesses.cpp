#include "witnesses.hpp"

#include "keys.hpp"
#include "redis_error.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

namespace holdfast::redis {

using namespace std::chrono_literals;

namespace {

/// An answer that two may bring, the server and the clock.
struct question {
  explicit question(witnesses::verdict told) : done(std::move(told)) {}
  void settle(result<void> how) {
    if (!settled.test_and_set()) done(std::move(how));
  }

  std::atomic_flag settled;
  witnesses::verdict done;
};

std::string shown(std::chrono::milliseconds time) {
  return time % 1s == 0ms ? std::to_string(time / 1s) + " s" : std::to_string(time / 1ms) + " ms";
}

failure too_few(std::int64_t answered, unsigned wanted, std::chrono::milliseconds within) {
  return {errc::unavailable, "only " + std::to_string(answered) + " of " + std::to_string(wanted) +
                                 " replicas answered within " + shown(within)};
}

failure undone(const failure& why, const result<bool>& left) {
  const char* end = left ? ": undone" : "; it could not be undone and ends with its ttl";
  return {why.code, "granted, but " + why.detail + end};
}

}  // namespace

std::shared_ptr<witnesses> witnesses::wanted_by(const settings& where, spi::runtime& engine) {
  return where.replicas == 0 ? nullptr : std::make_shared<witnesses>(where, engine);
}

witnesses::witnesses(const settings& where, spi::runtime& engine)
    : engine_(engine), count_(where.replicas), timeout_(where.replicas_timeout), courier_(where, engine) {}

void witnesses::ask(const std::string& name, spi::time_point since, verdict done) {
  const auto deadline = since + engine_.options().request_timeout;
  const auto left = std::min<std::chrono::nanoseconds>(timeout_, deadline - engine_.now());
  const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(left);
  if (patience < 1ms) return done(failure{errc::unavailable, "there was no time left to ask the replicas"});

  auto asked = std::make_shared<question>(std::move(done));
  const auto timer = engine_.at(
      deadline, [asked] { asked->settle(failure{errc::unavailable, "the replicas were not heard of in time"}); });
  const std::string key = own_key("sync", name);
  const std::string count = std::to_string(count_);
  const std::string limit = std::to_string(patience.count());
  std::vector<link::answer> answers;
  answers.emplace_back([asked](const result<reply>& said) {
    if (!said) asked->settle(said.error());
  });
  answers.emplace_back([this, asked, timer, patience](const result<reply>& said) {
    engine_.cancel(timer);
    if (!said) return asked->settle(said.error());
    if (said->integer() < count_) return asked->settle(too_few(said->integer(), count_, patience));
    asked->settle({});
  });
  courier_.ask_in_turn(key, {{"SET", key, "1", "PX", "100"}, {"WAIT", count, limit}}, std::move(answers));
}

spi::completion<bool> witnesses::before(const std::shared_ptr<witnesses>& all, const std::string& name, undo back,
                                        spi::completion<bool> done) {
  if (!all) return done;
  return [all, name, since = all->engine_.now(), back = std::move(back),
          done = std::move(done)](result<bool> outcome) mutable {
    if (!outcome || !*outcome) return done(std::move(outcome));
    all->ask(name, since, [back = std::move(back), done = std::move(done)](result<void> safe) mutable {
      if (safe) return done(true);
      if (!back) return done(safe.error());
      back([why = safe.error(), done = std::move(done)](const result<bool>& left) mutable { done(undone(why, left)); });
    });
  };
}

spi::completion<spi::entry_result> witnesses::before(const std::shared_ptr<witnesses>& all, spi::backend& store,
                                                     const spi::claim& wanted,
                                                     spi::completion<spi::entry_result> done) {
  // That a latch is open is nothing one could lose.
  if (!all || wanted.kind == spi::kind::latch) return done;
  auto grant = std::make_shared<std::optional<spi::entry_result>>();
  auto told = std::make_shared<spi::completion<spi::entry_result>>(std::move(done));
  auto leave = [&store, wanted](spi::completion<bool> left) {
    store.leave(wanted, spi::caller::must_not_block, std::move(left));
  };
  auto settled = before(all, wanted.name, std::move(leave), [grant, told](const result<bool>& safe) {
    if (safe) return (*told)(**grant);
    (*told)(safe.error());
  });
  return [grant, told, settled = std::move(settled)](auto outcome) mutable {
    if (!outcome || !std::holds_alternative<spi::granted>(*outcome)) return (*told)(std::move(outcome));
    *grant = *outcome;
    settled(true);
  };
}

}  // namespace holdfast::redis
