#include "inspection.hpp"

#include "etcd_backend.hpp"

namespace holdfast::etcd {

namespace {

constexpr std::int64_t page = 1000;
constexpr std::size_t most_leases = 500;  // more are not asked about: what they hold is shown without its time

}  // namespace

void reading::start() {
  if (where_.empty()) return done_(census_.finish());
  etcdserverpb::RangeRequest request;
  request.set_key(where_.front().first);
  request.set_range_end(where_.front().end);
  request.set_limit(page);
  office_.list(std::move(request), spi::caller::must_not_block, [self = shared_from_this()](const auto& said) {
    if (!said) return self->done_(said.error());
    for (const auto& kv : said->kvs()) self->census_.add(kv);
    if (said->more() && !said->kvs().empty())
      self->where_.front().first = said->kvs(said->kvs_size() - 1).key() + std::string(1, '\0');
    else
      self->where_.pop_front();
    self->start();
  });
}

void inspection::start() {
  std::make_shared<reading>(office_,
                            std::deque{office_.names.lines_below(prefix_), office_.names.others_below(prefix_)},
                            [self = shared_from_this()](auto all) {
                              if (!all) return self->done_(all.error());
                              self->on_read(std::move(*all));
                            })
      ->start();
}

void inspection::on_read(std::map<std::string, lock_state> all) {
  std::set<leases::id> leases;
  for (auto& [name, state] : all) {
    // Nearby keys of shorter names were read along.
    if (!name.starts_with(prefix_)) continue;
    for (const auto& holder : state.holders)
      if (leases.size() < most_leases) leases.insert(holder.lease);
    all_.emplace(name, std::move(state));
  }
  left_ = leases.size() + 1;
  for (const auto lease : leases) {
    etcdserverpb::LeaseTimeToLiveRequest request;
    request.set_id(lease);
    office_.through.ask(methods::time_to_live, std::move(request), spi::caller::must_not_block,
                        [self = shared_from_this(), lease](const auto& said) {
                          if (said && said->ttl() > 0) {
                            const std::lock_guard lock(self->mutex_);
                            self->remaining_[lease] = std::chrono::seconds(said->ttl());
                          }
                          self->one_less();
                        });
  }
  one_less();
}

void inspection::one_less() {
  {
    const std::lock_guard lock(mutex_);
    if (--left_ != 0) return;
  }
  tell();
}

participant inspection::describe(const present& who, const lock_state& of, bool holds) const {
  participant shown;
  shown.owner = who.who.id;
  shown.host = who.who.host;
  shown.pid = who.who.pid;
  shown.client_name = who.who.client_name;
  shown.since = who.who.since;
  shown.permits = of.kind == spi::kind::permits ? who.who.permits : 1;
  shown.shared = who.shared;
  if (!holds) return shown;
  shown.token = fencing_token(who.who.token != 0 ? who.who.token : static_cast<std::uint64_t>(who.created));
  const auto found = remaining_.find(who.lease);
  if (found == remaining_.end()) return shown;
  shown.remaining = found->second;
  if (who.who.ttl.count() > 0) shown.remaining = std::min<std::chrono::nanoseconds>(shown.remaining, who.who.ttl);
  return shown;
}

void inspection::tell() {
  std::vector<entry> entries;
  for (const auto& [name, state] : all_) {
    entry one;
    one.name = name;
    one.kind = to_string(state.kind);
    for (const auto& who : state.holders) one.holders.push_back(describe(who, state, true));
    for (const auto& who : state.waiters) one.waiters.push_back(describe(who, state, false));
    entries.push_back(std::move(one));
  }
  done_(std::move(entries));
}

void etcd_backend::evict(const std::string& name, spi::completion<bool> done) {
  const std::deque where{everything_below(office_.names.line(name)), everything_below(office_.names.others(name))};
  auto shared = std::make_shared<spi::completion<bool>>(std::move(done));
  std::make_shared<reading>(office_, where, [this, name, shared](const auto& all) {
    if (!all) return (*shared)(all.error());
    const auto found = all->find(name);
    if (found == all->end() || found->second.holders.empty()) return (*shared)(false);
    script s;
    // Those who hold it now, and only if they still do: between the two somebody else may have got it.
    const auto& holders = found->second.holders;
    for (const auto& holder : holders)
      for (const auto& key : holder.keys) s.remove(key);
    s.created(holders.front().keys.front(), holders.front().created);
    office_.txn(s, spi::caller::must_not_block, [this, name, shared](const auto& said) mutable {
      if (!said) return (*shared)(said.error());
      if (said->succeeded()) return (*shared)(true);
      evict(name, std::move(*shared));
    });
  })->start();
}

}  // namespace holdfast::etcd
