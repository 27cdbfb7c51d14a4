#include "poll_nodes.hpp"
#include "redlock_backend.hpp"

#include <algorithm>
#include <map>

namespace holdfast::redis {

namespace {

/// What several servers know of one name: who has a majority holds it. Votes of others are no hold: who has them is on
/// the way in or out, or waits, and then stands in line at the rest of a majority. One who is known to fewer does not
/// wait yet: others may still pass.
struct sightings {
  struct sight {
    participant who;
    std::size_t votes = 0;
    std::size_t places = 0;  // in line
  };

  std::string kind;
  std::map<std::string, sight> all;  // by owner

  void add(const entry& seen) {
    kind = seen.kind;
    for (const auto& holder : seen.holders) {
      auto& known = all[holder.owner];
      // Of several, the end that comes last but is true of a majority is not worth the trouble: the nearest is safe.
      const fencing_token newest = known.votes == 0 ? holder.token : std::max(known.who.token, holder.token);
      if (known.votes == 0 || holder.remaining < known.who.remaining) known.who = holder;
      known.who.token = newest;
      ++known.votes;
    }
    for (const auto& waiter : seen.waiters) {
      auto& known = all.try_emplace(waiter.owner, sight{waiter}).first->second;
      ++known.places;
    }
  }

  entry settle(const std::string& name, std::size_t need) const {
    entry shown{name, kind, {}, {}};
    for (const auto& [owner, seen] : all) {
      if (seen.votes >= need) {
        shown.holders.push_back(seen.who);
        continue;
      }
      if (seen.places == 0 || seen.votes + seen.places < need) continue;
      shown.waiters.push_back(seen.who);
      shown.waiters.back().token = {};
      shown.waiters.back().remaining = {};
    }
    std::sort(shown.waiters.begin(), shown.waiters.end(),
              [](const participant& a, const participant& b) { return a.since < b.since; });
    return shown;
  }
};

}  // namespace

void redlock_backend::inspect(const std::string& prefix, spi::completion<std::vector<entry>> done) {
  poll_nodes<std::vector<entry>>(
      nodes_, poll_until::everybody,
      [&](redlock_node& node, spi::completion<std::vector<entry>> answer) {
        node.store().inspect(prefix, std::move(answer));
      },
      [need = need(), done = std::move(done)](result<std::vector<std::vector<entry>>> said) mutable {
        if (!said) return done(said.error());
        std::map<std::string, sightings> names;
        for (const auto& server : *said)
          for (const auto& seen : server) names[seen.name].add(seen);
        std::vector<entry> all;
        for (const auto& [name, seen] : names) {
          auto shown = seen.settle(name, need);
          if (!shown.holders.empty() || !shown.waiters.empty()) all.push_back(std::move(shown));
        }
        done(std::move(all));
      });
}

/// What every server says of itself, with its name before it; and who says nothing.
void redlock_backend::examine(spi::completion<std::vector<finding>> done) {
  poll_nodes<std::vector<finding>>(
      nodes_, poll_until::everybody,
      [](redlock_node& node, spi::completion<std::vector<finding>> answer) {
        node.store().examine([&node, answer = std::move(answer)](result<std::vector<finding>> said) mutable {
          if (said)
            for (finding& one : *said) one.text.insert(0, node.shown() + ": ");
          answer(std::move(said));
        });
      },
      [this, done = std::move(done)](result<std::vector<std::vector<finding>>> said) mutable {
        if (!said) return done(said.error());
        std::vector<finding> all;
        for (auto& one : *said) all.insert(all.end(), one.begin(), one.end());
        for (const auto& node : nodes_)
          if (node->silent()) all.push_back({finding::level::warning, node->shown() + ": it does not answer"});
        done(std::move(all));
      });
}

}  // namespace holdfast::redis
