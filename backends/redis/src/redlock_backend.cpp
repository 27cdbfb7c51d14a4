#include "redlock_backend.hpp"

#include "poll_nodes.hpp"

#include <algorithm>
#include <set>
#include <thread>

namespace holdfast::redis {

result<std::unique_ptr<spi::backend>> redlock_backend::open(std::vector<settings> servers, spi::runtime& engine) {
  auto store = std::make_unique<redlock_backend>(std::move(servers), engine);
  if (auto good = store->open_nodes(); !good) return good.error();
  return std::unique_ptr<spi::backend>(std::move(store));
}

redlock_backend::redlock_backend(std::vector<settings> servers, spi::runtime& engine) : engine_(engine) {
  for (std::size_t i = 0; i < servers.size(); ++i) {
    nodes_.push_back(std::make_unique<redlock_node>(
        std::move(servers[i]), engine, [this, i](const spi::owner_id& id, loss cause) { lost(i, id, cause); }));
  }
}

/// All at once: those that do not answer would add up. (The caller waits for it, as connect() says.)
result<void> redlock_backend::open_nodes() {
  std::vector<result<void>> outcomes(nodes_.size());
  {
    std::vector<std::jthread> dialling;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      dialling.emplace_back([this, &outcomes, i] { outcomes[i] = nodes_[i]->open(); });
  }
  std::size_t open = 0;
  const failure* why = nullptr;
  for (const auto& outcome : outcomes) {
    if (outcome)
      ++open;
    else if (outcome.error().code != errc::unavailable)
      return outcome;  // a wrong password is not a dead server
    else
      why = &outcome.error();
  }
  if (open >= need()) return {};
  return {errc::unavailable, "only " + std::to_string(open) + " of " + std::to_string(nodes_.size()) +
                                 " servers can be reached, and " + std::to_string(need()) + " must be: " + why->detail};
}

std::string redlock_backend::identity() const {
  std::set<std::string> servers;
  for (const auto& node : nodes_) servers.insert(node->store().identity());
  std::string all = "redlock";
  for (const auto& server : servers) all += " " + server;
  return all;
}

/// The time, in microseconds: processes whose clocks agree take their turns in the order they came.
std::uint64_t redlock_backend::next_place() {
  const auto now = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
  auto last = last_place_.load();
  while (!last_place_.compare_exchange_weak(last, std::max(last + 1, now))) {
  }
  return std::max(last + 1, now);
}

std::shared_ptr<election> redlock_backend::find(const spi::owner_id& id) const {
  const std::lock_guard lock(mutex_);
  const auto at = elections_.find(id);
  return at == elections_.end() ? nullptr : at->second;
}

std::shared_ptr<election> redlock_backend::find_or_begin(const spi::claim& claim) {
  const std::lock_guard lock(mutex_);
  std::erase_if(ended_, [](const auto& one) { return !one.second->closing(); });
  if (ended_.contains(claim.id)) return nullptr;
  auto& at = elections_[claim.id];
  if (!at) at = std::make_shared<election>(nodes_, engine_, claim, next_place());
  return at;
}

std::shared_ptr<election> redlock_backend::take(const spi::owner_id& id) {
  const std::lock_guard lock(mutex_);
  auto node = elections_.extract(id);
  return node ? std::move(node.mapped()) : nullptr;
}

void redlock_backend::enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) {
  const auto one = find_or_begin(request.claim);
  // The engine comes again with the same id after a grant that took too long.
  if (!one) return done(failure{errc::unavailable, "what is left of the last attempt is being cleared away"});
  one->enter(request, [this, id = request.claim.id, queue = request.queue,
                       done = std::move(done)](result<spi::entry_result> outcome) mutable {
    const bool granted = outcome && std::holds_alternative<spi::granted>(*outcome);
    const bool asks_again = outcome ? queue : outcome.error().code == errc::unavailable;
    if (!granted && !asks_again) take(id);
    done(std::move(outcome));
  });
}

void redlock_backend::watch(const spi::claim& queued, spi::completion<spi::wake> done) {
  if (const auto one = find(queued.id)) return one->watch(std::move(done));
  done(spi::wake(spi::look_again{}));
}

void redlock_backend::leave(const spi::claim& ours, spi::caller, spi::completion<bool> done) {
  auto one = take(ours.id);
  if (!one) {
    one = std::make_shared<election>(nodes_, engine_, ours, 1);
    one->suspect_all();
  }
  one->leave(std::move(done));
  if (!one->closing()) return;
  const std::lock_guard lock(mutex_);
  ended_[ours.id] = std::move(one);
}

void redlock_backend::lost(std::size_t node, const spi::owner_id& id, loss cause) {
  if (const auto one = find(id); one && one->lose(node)) engine_.lost(id, cause);
}

void redlock_backend::raise(const spi::claim& held, fencing_token floor, spi::caller, spi::completion<bool> done) {
  if (const auto one = find(held.id)) return one->raise(floor, std::move(done));
  done(failure{errc::lost, "the servers do not know this lease any more"});
}

/// A token is admitted if a majority has seen none that is newer; then a majority knows it.
void redlock_backend::admit(const std::string& name, fencing_token token, spi::caller,
                            spi::completion<fencing_token> done) {
  poll_nodes<fencing_token>(
      nodes_, poll_until::majority,
      [&](redlock_node& node, spi::completion<fencing_token> answer) {
        node.store().admit(name, token, spi::caller::must_not_block, std::move(answer));
      },
      [done = std::move(done)](result<std::vector<fencing_token>> said) mutable {
        if (!said) return done(said.error());
        done(*std::max_element(said->begin(), said->end()));
      });
}

void redlock_backend::evict(const std::string& name, spi::completion<bool> done) {
  poll_nodes<bool>(
      nodes_, poll_until::majority,
      [&](redlock_node& node, spi::completion<bool> answer) { node.store().evict(name, std::move(answer)); },
      [done = std::move(done)](result<std::vector<bool>> said) mutable {
        if (!said) return done(said.error());
        done(std::find(said->begin(), said->end(), true) != said->end());
      });
}

std::function<void()> redlock_backend::observe(const std::string& prefix, std::function<void()> changed) {
  std::vector<std::function<void()>> ends;
  for (const auto& node : nodes_) ends.push_back(node->store().observe(prefix, changed));
  return [ends = std::move(ends)] {
    for (const auto& end : ends) end();
  };
}

}  // namespace holdfast::redis
