#include "redlock_backend.hpp"

#include <algorithm>
#include <mutex>
#include <optional>

namespace holdfast::redis {

namespace {

/// One batch at all servers. It is over when a majority has renewed every claim, or everybody has answered.
struct renewal_round {
  struct tally {
    std::size_t voters = 0;  // whose answer may still come
    std::size_t kept = 0;    // who has not said that it is lost
    std::size_t renewed = 0;
    spi::time_point expires = spi::time_point::max();

    bool settled(std::size_t majority) const { return renewed >= majority || renewed + voters < majority; }
  };

  std::mutex mutex;
  std::size_t need = 0;
  std::vector<tally> claims;
  spi::completion<std::vector<spi::renewal_outcome>> done;

  /// With the lock held: the outcomes, if they are settled.
  std::optional<std::vector<spi::renewal_outcome>> outcomes() const {
    std::vector<spi::renewal_outcome> all(claims.size());
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (!claims[i].settled(need)) return std::nullopt;
      all[i].expires = claims[i].expires;
      if (claims[i].renewed >= need)
        all[i].what = spi::renewal::renewed;
      else if (claims[i].kept < need)
        all[i].what = spi::renewal::lost;
    }
    return all;
  }
};

}  // namespace

void redlock_backend::renew(const std::vector<spi::claim>& held,
                            spi::completion<std::vector<spi::renewal_outcome>> done) {
  auto round = std::make_shared<renewal_round>();
  round->need = need();
  round->claims.resize(held.size());
  round->done = std::move(done);

  std::vector<std::vector<spi::claim>> asked(nodes_.size());
  std::vector<std::vector<std::size_t>> which(nodes_.size());
  std::vector<std::shared_ptr<election>> elections;
  for (std::size_t c = 0; c < held.size(); ++c) {
    elections.push_back(find(held[c].id));
    if (!elections[c]) continue;
    for (const std::size_t node : elections[c]->voters()) {
      asked[node].push_back(held[c]);
      which[node].push_back(c);
      ++round->claims[c].voters;
      ++round->claims[c].kept;
    }
  }
  const auto tell = [](const std::shared_ptr<renewal_round>& r, std::unique_lock<std::mutex>& lock) {
    if (!r->done) return;
    auto outcomes = r->outcomes();
    if (!outcomes) return;
    auto told = std::move(r->done);
    r->done = {};
    lock.unlock();
    told(std::move(*outcomes));
  };
  {
    // Nobody may be left to ask.
    std::unique_lock lock(round->mutex);
    tell(round, lock);
  }
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    if (asked[node].empty()) continue;
    nodes_[node]->asked();
    nodes_[node]->store().renew_from(
        asked[node], spi::caller::must_not_block,
        [this, round, tell, node, which = which[node], elections](result<std::vector<spi::renewal_outcome>> said) {
          const bool silent = !said || std::all_of(said->begin(), said->end(), [](const spi::renewal_outcome& o) {
            return o.what == spi::renewal::unknown;
          });
          nodes_[node]->answered(silent ? make_error_code(errc::unavailable) : std::error_code());
          std::unique_lock lock(round->mutex);
          for (std::size_t i = 0; i < which.size(); ++i) {
            auto& claim = round->claims[which[i]];
            --claim.voters;
            const auto outcome = said ? (*said)[i] : spi::renewal_outcome{};
            const bool counts = elections[which[i]]->renewed(node, outcome);
            if (outcome.what == spi::renewal::lost) --claim.kept;
            if (!counts) continue;
            ++claim.renewed;
            claim.expires = std::min(claim.expires, outcome.expires);
          }
          tell(round, lock);
        });
  }
}

}  // namespace holdfast::redis
