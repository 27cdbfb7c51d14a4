#include "items.hpp"

#include "keys.hpp"
#include "pause.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>

namespace holdfast::memcached {

using namespace std::chrono_literals;

items::items(const settings& where, spi::runtime& engine) : servers_(where.servers), engine_(engine) {
  for (const auto& one : servers_) links_.push_back(std::make_shared<link>(one, where, engine));
}

result<void> items::open() {
  const auto share = engine_.options().connect_timeout / static_cast<std::int64_t>(links_.size());
  std::optional<failure> absent;
  std::size_t there = 0;
  for (const auto& one : links_) {
    auto good = one->open(share);
    if (!good && good.error().code != errc::unavailable) return good;
    if (!good && links_.size() > 1) engine_.log(log_level::warning, good.error().detail);
    if (!good)
      absent = good.error();
    else
      ++there;
  }
  if (there == 0 && absent) return *absent;
  return {};
}

void items::ask(const std::string& name, command what, spi::time_point deadline, link::answer told) {
  links_[server_of(name, servers_)]->ask(std::move(what), deadline, std::move(told));
}

namespace {

result<sighting> seen_in(const reply& said, const std::string& name, sighting seen) {
  seen.era = said.era;
  seen.what.name = name;
  if (said.is("EN")) return seen;
  if (said.kind != reply::what::value)
    return failure{errc::unavailable, "'" + name + "': the server's answer makes no sense"};
  seen.there = true;
  auto known = record::decoded(said.body);
  if (!known)
    seen.foreign = {errc::rejected, "the key of '" + name + "' holds something that is no lock"};
  else if (known->name != name)
    seen.foreign = {errc::rejected, "'" + name + "' and '" + known->name + "' have the same key; rename one of them"};
  else
    seen.what = std::move(*known);
  seen.cas = said.number('c');
  if (seen.cas == 0) return failure{errc::unavailable, "'" + name + "': the server's answer has no version"};
  seen.left = static_cast<std::int64_t>(std::min<std::uint64_t>(said.number('t'), longest_lifetime));
  return seen;
}

std::int64_t clock_in(const reply& said) {
  const auto text = said.stat("time");
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

namespace {

/// Two questions in a row, which may be answered on two threads if the connection breaks between them.
struct pair_of_replies {
  result<reply> first = reply();
  result<reply> second = reply();
  std::atomic<int> missing{2};

  bool complete() { return --missing == 0; }
};

}  // namespace

/// Asks both; told when both are answered.
void items::ask_both(const std::string& name, command one, command two, spi::time_point deadline,
                     detail::unique_function<void(result<reply>, result<reply>)> told) {
  const auto both = std::make_shared<pair_of_replies>();
  const auto tell = std::make_shared<decltype(told)>(std::move(told));
  ask(name, std::move(one), deadline, [both, tell](result<reply> said) {
    both->first = std::move(said);
    if (both->complete()) (*tell)(std::move(both->first), std::move(both->second));
  });
  ask(name, std::move(two), deadline, [both, tell](result<reply> said) {
    both->second = std::move(said);
    if (both->complete()) (*tell)(std::move(both->first), std::move(both->second));
  });
}

void items::look(const std::string& name, with what, spi::time_point deadline, spi::completion<sighting> done) {
  sighting seen;
  seen.sent = engine_.now();
  command look_at{"mg " + key_of(lock_keys, name) + " v c t"};
  if (what == with::item_alone) {
    return ask(name, std::move(look_at), deadline,
               [name, seen = std::move(seen), done = std::move(done)](result<reply> said) mutable {
                 if (!said) return done(said.error());
                 done(seen_in(*said, name, std::move(seen)));
               });
  }
  ask_both(name, {"stats", std::nullopt, 0, command::marking::none}, std::move(look_at), deadline,
           [name, seen = std::move(seen), done = std::move(done)](result<reply> clock, result<reply> said) mutable {
             if (!clock) return done(clock.error());
             if (!said) return done(said.error());
             seen.second = clock_in(*clock);
             if (clock->era != said->era || seen.second == 0)
               return done(failure{errc::unavailable, "'" + name + "': the server was started anew meanwhile"});
             done(seen_in(*said, name, std::move(seen)));
           });
}

struct items::attempt {
  std::string name;
  with what;
  spi::time_point deadline;
  edit change;
  spi::completion<revision> done;
  unsigned lost = 0;
};

void items::revise(const std::string& name, with what, spi::time_point deadline, edit change,
                   spi::completion<revision> done) {
  try_revise(std::make_shared<attempt>(attempt{name, what, deadline, std::move(change), std::move(done)}));
}

void items::try_revise(const std::shared_ptr<attempt>& one) {
  look(one->name, one->what, one->deadline, [this, one](result<sighting> seen) {
    if (!seen) return one->done(seen.error());
    auto next = one->change(*seen);
    if (!next) return one->done(next.error());
    if (*next == step::leave || seen->foreign || (*next == step::erase && !seen->there))
      return one->done(revision{step::leave, std::move(*seen), true});
    if (*next == step::write) return write(one, std::move(*seen));
    command erase{"md " + key_of(lock_keys, one->name) + " C" + std::to_string(seen->cas)};
    erase.era = seen->era;
    ask(one->name, std::move(erase), one->deadline, [this, one, last = *seen](const result<reply>& said) {
      if (!said) return one->done(said.error());
      if (said->is("HD")) return one->done(revision{step::erase, last, true});
      try_revise(one);
    });
  });
}

void items::put(const record& what, const sighting* over, spi::time_point deadline, spi::completion<written> done) {
  const std::string key = key_of(lock_keys, what.name);
  std::string text = what.encoded();
  command store{(over != nullptr ? "cas " : "add ") + key + " 0 " + std::to_string(what.lifetime) + " " +
                std::to_string(text.size())};
  store.mark = command::marking::none;
  command look_at{"mg " + key + " v c t"};
  if (over != nullptr) {
    store.line += " " + std::to_string(over->cas);
    store.era = look_at.era = over->era;
  }
  store.data = std::move(text);
  sighting blank;
  blank.sent = engine_.now();
  ask_both(what.name, std::move(store), std::move(look_at), deadline,
           [name = what.name, blank = std::move(blank), done = std::move(done)](result<reply> stored,
                                                                                result<reply> said) mutable {
             if (!stored && stored.error().code == errc::unavailable) return done(stored.error());
             auto after = said ? seen_in(*said, name, std::move(blank)) : result<sighting>(said.error());
             written how{stored && stored->is("STORED"), std::move(after)};
             if (!stored) how.refused = stored.error();
             done(std::move(how));
           });
}

void items::write(const std::shared_ptr<attempt>& one, sighting seen) {
  const sighting* over = seen.there ? &seen : nullptr;
  put(seen.what, over, one->deadline, [this, one, seen](result<written> how) mutable {
    if (!how) return one->done(how.error());
    if (how->refused) return one->done(*how->refused);
    if (how->stored) {
      const bool confirmed = how->after.has_value();
      if (confirmed) {
        // When it was read counts, and not when it was written.
        how->after->sent = seen.sent;
        how->after->second = seen.second;
        seen = std::move(*how->after);
      }
      return one->done(revision{step::write, std::move(seen), confirmed});
    }
    // Somebody was quicker, and so not in vain. After a while not at once: the more try, the fewer get through.
    const auto now = engine_.now();
    if (now >= one->deadline)
      return one->done(failure{errc::unavailable, "'" + one->name + "': too many change it at the same time"});
    if (++one->lost < 3) return try_revise(one);
    engine_.at(now + jittered(1ms * (1U << std::min(one->lost - 3, 5U))), [this, one] { try_revise(one); });
  });
}

}  // namespace holdfast::memcached
