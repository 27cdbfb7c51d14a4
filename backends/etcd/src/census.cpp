#include "census.hpp"

#include <algorithm>

namespace holdfast::etcd {

namespace {

present somebody(const mvccpb::KeyValue& kv) {
  present p;
  p.keys = {kv.key()};
  p.created = kv.create_revision();
  p.lease = kv.lease();
  auto known = record::parse(kv.value());
  if (known) {
    p.who = std::move(*known);
  } else {
    // Of a foreign client the key is all there is.
    p.who.id = kv.key().substr(kv.key().rfind('/') + 1);
  }
  return p;
}

/// The keys of one writer are one participant.
bool merge(std::vector<present>& all, const present& next) {
  for (auto& one : all) {
    if (one.created != next.created || one.who.id != next.who.id) continue;
    one.keys.push_back(next.keys.front());
    one.shared = one.shared && next.shared;
    return true;
  }
  return false;
}

void sort_by_age(std::vector<present>& all) {
  std::sort(all.begin(), all.end(), [](const present& a, const present& b) { return a.created < b.created; });
}

}  // namespace

void census::add(const mvccpb::KeyValue& kv) {
  if (const auto other = names_.other_place_of(kv.key())) return add_other(*other, kv);
  if (const auto place = names_.place_of(kv.key(), kv.lease())) add_line(*place, kv);
}

void census::add_line(const keys::place& where, const mvccpb::KeyValue& kv) {
  auto next = somebody(kv);
  next.shared = where.what == keys::form::reader;
  line& l = lines_[where.name];
  if (where.what != keys::form::mutex) l.kind = spi::kind::shared_mutex;
  // An upgraded reader's second key is younger, but it is the same one.
  if (where.what != keys::form::mutex) {
    for (auto& one : l.all) {
      if (one.who.id != next.who.id || one.lease != next.lease || !record::parse(kv.value())) continue;
      one.keys.push_back(kv.key());
      one.created = std::min(one.created, next.created);
      one.shared = one.shared && next.shared;
      return;
    }
  }
  if (!merge(l.all, next)) l.all.push_back(std::move(next));
}

void census::add_other(const keys::other_place& where, const mvccpb::KeyValue& kv) {
  const bool holds = where.what.starts_with("permit\t");
  if (!holds && !where.what.starts_with("wait\t")) return;
  lock_state& state = found_[where.name];
  state.kind = kind_of_other(where.what, kv.value()).value_or(spi::kind::permits);
  (holds ? state.holders : state.waiters).push_back(somebody(kv));
}

std::map<std::string, lock_state> census::finish() {
  for (auto& [name, l] : lines_) {
    sort_by_age(l.all);
    lock_state& state = found_[name];
    state.kind = l.kind;
    for (auto& one : l.all) {
      const bool first = state.holders.empty();
      const bool joins = !first && state.waiters.empty() && one.shared && state.holders.front().shared;
      (first || joins ? state.holders : state.waiters).push_back(std::move(one));
    }
  }
  for (auto& [name, state] : found_) {
    sort_by_age(state.holders);
    sort_by_age(state.waiters);
  }
  return std::move(found_);
}

}  // namespace holdfast::etcd
