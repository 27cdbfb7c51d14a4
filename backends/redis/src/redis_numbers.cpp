#include "keys.hpp"
#include "redis_backend.hpp"
#include "redis_error.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>

namespace holdfast::redis {

namespace {

constexpr std::size_t renewed_at_once = 100;  // mutexes per script: the server does nothing else meanwhile

const char* word_of(spi::count_request::op what) {
  using op = spi::count_request::op;
  switch (what) {
    case op::get:
      return "get";
    case op::set_if_unset:
      return "set";
    case op::add:
      return "add";
    case op::subtract:
      return "sub";
    case op::drain:
      return "drain";
  }
  return "get";
}

/// The outcomes of a batch, told when the last has come.
struct renewals {
  std::vector<spi::renewal_outcome> outcomes;  // `expires` is set from the start: it counts if renewed
  std::atomic<std::size_t> left{0};
  spi::completion<std::vector<spi::renewal_outcome>> done;

  void settle(std::size_t index, const reply& said) {
    outcomes[index].what = said.integer() == 1 ? spi::renewal::renewed : spi::renewal::lost;
  }
  void one_less() {
    if (--left == 0) done(std::move(outcomes));
  }
};

}  // namespace

/// Which first: those that one script may renew stand side by side.
std::vector<std::size_t> redis_backend::by_slot(const std::vector<spi::claim>& held) const {
  std::vector<std::size_t> order(held.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!courier_.nodes()) return order;
  std::vector<slot> slots;
  slots.reserve(held.size());
  for (const auto& c : held) slots.push_back(slot_of(c.name));
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return slots[a] < slots[b]; });
  return order;
}

void redis_backend::renew_from(const std::vector<spi::claim>& held, spi::caller from,
                               spi::completion<std::vector<spi::renewal_outcome>> done) {
  auto state = std::make_shared<renewals>();
  state->outcomes.resize(held.size());
  state->done = std::move(done);
  const auto sent = engine_.now();
  std::vector<errand> errands;
  const auto add = [&](const script& what, words keys, words args, link::answer told) {
    errands.push_back({what, std::move(keys), std::move(args), std::move(told)});
  };
  const auto milliseconds = [](const spi::claim& c) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(c.ttl).count());
  };

  std::vector<std::size_t> mutexes;
  words keys;
  words owners;
  const auto flush = [&] {
    if (mutexes.empty()) return;
    add(layout_.run().renew_mutexes, std::move(keys), std::move(owners), [state, mutexes](const result<reply>& said) {
      for (std::size_t i = 0; said && i < mutexes.size(); ++i) state->settle(mutexes[i], said->at(i));
      state->one_less();
    });
    mutexes.clear();
    keys.clear();
    owners.clear();
  };
  const auto together = [&](const spi::claim& c) {
    return mutexes.empty() || !courier_.nodes() || slot_of(held[mutexes.back()].name) == slot_of(c.name);
  };
  for (const std::size_t i : by_slot(held)) {
    const spi::claim& c = held[i];
    state->outcomes[i].expires = sent + std::chrono::duration_cast<std::chrono::milliseconds>(c.ttl);
    if (c.kind == spi::kind::mutex) {
      if (!together(c)) flush();
      mutexes.push_back(i);
      for (auto& key : layout_.renewed_keys(c.name)) keys.push_back(std::move(key));
      owners.push_back(owner(c));
      owners.push_back(milliseconds(c));
      if (mutexes.size() == renewed_at_once) flush();
      continue;
    }
    auto args = claim_arguments(c);
    args.push_back(std::to_string(c.permits));
    args.push_back(milliseconds(c));
    add(layout_.run().renew, layout_.keys(c.name), std::move(args), [state, i](const result<reply>& said) {
      if (said) state->settle(i, *said);
      state->one_less();
    });
  }
  flush();
  if (errands.empty()) return state->done(std::move(state->outcomes));
  state->left = errands.size();
  courier_.run(std::move(errands), from);
}

void redis_backend::count(const spi::count_request& request, spi::caller from, spi::completion<spi::count_reply> done) {
  if (const auto why = refusal(request.kind, request.name)) return done(*why);
  words args{flags(request.kind), request.id.hex(), word_of(request.what), std::to_string(request.amount), memory()};
  run(layout_.run().count, layout_.keys(request.name), std::move(args), from,
      [name = request.name, kind = request.kind, done = std::move(done)](result<reply> said) mutable {
        if (!said) return done(said.error());
        const auto outcome = said->at(0).integer();
        if (outcome == 4)
          return done(
              failure{errc::invalid_argument, "'" + name + "': the number of permits would not fit in 64 bits"});
        if (outcome == 2) return done(other_kind(name, kind, said->at(1).text()));
        done(spi::count_reply{outcome == 1, said->at(1).integer()});
      });
}

void redis_backend::load_cell(const std::string& name, spi::caller from, spi::completion<spi::cell_value> done) {
  if (const auto why = refusal(spi::kind::mutex, name)) return done(*why);
  const std::string key = own_key("cell", name);
  courier_.ask(key, {"HMGET", key, "value", "version"}, from, [done = std::move(done)](result<reply> said) mutable {
    if (!said) return done(said.error());
    done(spi::cell_value{std::string(said->at(0).text()), said->at(1).unsigned_integer()});
  });
}

void redis_backend::exchange_cell(const std::string& name, std::uint64_t expected, std::string value, spi::owner_id id,
                                  spi::caller from, spi::completion<bool> done) {
  if (const auto why = refusal(spi::kind::mutex, name)) return done(*why);
  const std::string request = id.hex();
  run(layout_.run().exchange_cell, {own_key("cell", name), own_key("done", name) + ":" + request},
      {std::to_string(expected), std::move(value), request, memory()}, from,
      [done = std::move(done)](result<reply> said) mutable {
        if (!said) return done(said.error());
        done(said->integer() == 1);
      });
}

void redis_backend::admit(const std::string& name, fencing_token token, spi::caller from,
                          spi::completion<fencing_token> done) {
  if (const auto why = refusal(spi::kind::mutex, name)) return done(*why);
  run(layout_.run().admit, {own_key("fence", name)}, {std::to_string(token.value())}, from,
      [done = std::move(done)](result<reply> said) mutable {
        if (!said) return done(said.error());
        done(fencing_token(said->unsigned_integer()));
      });
}

}  // namespace holdfast::redis
