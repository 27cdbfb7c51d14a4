#include "ballot.hpp"

#include <algorithm>
#include <functional>

namespace holdfast::redis {

void ballot::grant(std::size_t i, const spi::granted& grant) { seats_[i] = {seat::granted, grant, {}, {}}; }

void ballot::queue(std::size_t i, time_point look_again) { seats_[i] = {seat::queued, {}, look_again, {}}; }

void ballot::fail(std::size_t i, failure why) { seats_[i] = {seat::failed, {}, {}, std::move(why)}; }

std::size_t ballot::votes(time_point now) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(seats_.begin(), seats_.end(), [now](const place& p) { return counts(p, now); }));
}

ballot::verdict ballot::judge(time_point now) const noexcept {
  const auto ours = votes(now);
  if (ours >= need_) return verdict::majority;
  std::size_t open = 0;
  std::size_t failed = 0;
  for (const place& p : seats_) {
    if (p.what == seat::asked) ++open;
    if (p.what == seat::failed) ++failed;
  }
  if (ours + open >= need_) return verdict::open;
  return failed > seats_.size() - need_ ? verdict::broken : verdict::busy;
}

fencing_token ballot::newest(time_point now) const noexcept {
  fencing_token most;
  for (const place& p : seats_)
    if (counts(p, now)) most = std::max(most, p.grant.first_token);
  return most;
}

std::size_t ballot::votes_with(fencing_token token, time_point now) const noexcept {
  return static_cast<std::size_t>(std::count_if(
      seats_.begin(), seats_.end(), [&](const place& p) { return counts(p, now) && p.grant.first_token == token; }));
}

spi::granted ballot::outcome(time_point now) const {
  spi::granted all{newest(now), UINT32_MAX, {}};
  std::vector<time_point> ends;
  for (const place& p : seats_) {
    if (!counts(p, now)) continue;
    ends.push_back(p.grant.expires);
    all.tokens = std::min(all.tokens, p.grant.tokens);
  }
  std::nth_element(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(need_ - 1), ends.end(), std::greater<>());
  all.expires = ends[need_ - 1];
  return all;
}

ballot::time_point ballot::look_again() const noexcept {
  auto first = time_point::max();
  for (const place& p : seats_)
    if (p.what == seat::queued) first = std::min(first, p.look_again);
  return first;
}

failure ballot::why() const {
  std::size_t failed = 0;
  const failure* first = nullptr;
  for (const place& p : seats_) {
    if (p.what != seat::failed) continue;
    ++failed;
    if (first == nullptr || (first->code == errc::unavailable && p.no->code != errc::unavailable)) first = &*p.no;
  }
  if (first == nullptr) return {errc::unavailable, "no server was asked"};
  if (first->code != errc::unavailable) return *first;
  return {errc::unavailable, std::to_string(failed) + " of " + std::to_string(seats_.size()) +
                                 " servers do not vote, and " + std::to_string(need_) + " must: " + first->detail};
}

}  // namespace holdfast::redis
