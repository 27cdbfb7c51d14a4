#include "composite_hold.hpp"

#include "grant_hold.hpp"
#include "parker.hpp"

#include <algorithm>
#include <mutex>

namespace holdfast::detail {

namespace {

fencing_token greatest(const std::vector<std::shared_ptr<hold>>& members) {
  fencing_token most;
  for (const auto& member : members) most = std::max(most, member->token());
  return most;
}

}  // namespace

composite_hold::composite_hold(std::string name, std::vector<std::shared_ptr<hold>> members, std::size_t need)
    : name_(std::move(name)), first_(members.front()), need_(need), token_(greatest(members)) {
  std::vector<loss_watch> watches;
  for (const auto& member : members) watches.push_back(watch(*member));
  state_.with([&](state& s) {
    s.members = std::move(members);
    s.watches = std::move(watches);
  });
  count_losses();
}

composite_hold::~composite_hold() = default;

/// Not under the lock: a member that is lost already calls back at once.
composite_hold::loss_watch composite_hold::watch(const hold& member) {
  return std::make_unique<std::stop_callback<std::function<void()>>>(member.lost(), [this] { count_losses(); });
}

bool composite_hold::join(std::shared_ptr<hold> member) {
  auto its_watch = watch(*member);
  return state_.with([&](state& s) {
    if (released_) return false;
    s.members.push_back(std::move(member));
    s.watches.push_back(std::move(its_watch));
    return true;
  });
}

void composite_hold::count_losses() const noexcept {
  const auto members = all();
  const auto left =
      std::count_if(members.begin(), members.end(), [](const auto& m) { return m->loss_cause() == loss::none; });
  // (None yet: the constructor is at it.)
  if (!members.empty() && static_cast<std::size_t>(left) < need_) std::stop_source(source_).request_stop();
}

lease_clock::time_point composite_hold::valid_until() const noexcept {
  if (forked()) return first_->valid_until();
  std::vector<lease_clock::time_point> ends;
  for (const auto& member : all()) ends.push_back(member->valid_until());
  std::nth_element(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(need_ - 1), ends.end(), std::greater<>());
  return ends[need_ - 1];
}

bool composite_hold::valid() const noexcept {
  if (forked() || released_) return false;
  const auto members = all();
  const auto valid = std::count_if(members.begin(), members.end(), [](const auto& m) { return m->valid(); });
  return static_cast<std::size_t>(valid) >= need_;
}

std::stop_token composite_hold::lost() const noexcept {
  if (forked()) return first_->lost();
  count_losses();
  return source_.get_token();
}

loss composite_hold::loss_cause() const noexcept {
  if (forked()) return first_->loss_cause();
  count_losses();
  if (!source_.stop_requested()) return loss::none;
  for (const auto& member : all())
    if (const auto cause = member->loss_cause(); cause != loss::none) return cause;
  return loss::none;
}

/// Done if `need_` of them did it; otherwise the first failure.
result<void> composite_hold::each(const std::function<result<void>(hold&)>& act) {
  std::size_t done = 0;
  result<void> first;
  for (const auto& member : all()) {
    auto outcome = act(*member);
    if (outcome)
      ++done;
    else if (first)
      first = outcome;
  }
  if (done >= need_) return {};
  return first;
}

result<void> composite_hold::renew() {
  if (forked()) return first_->renew();
  if (released_) return {errc::not_owner, "this lease was released before"};
  return each([](hold& h) { return h.renew(); });
}

/// False: it was before. Ends the watches; not under the lock, for one at work may be waiting for it.
bool composite_hold::mark_released() noexcept {
  std::vector<loss_watch> ended;
  const bool first = state_.with([&](state& s) {
    ended.swap(s.watches);
    return !released_.exchange(true);
  });
  if (first && on_end_) on_end_();
  return first;
}

result<void> composite_hold::release() {
  if (forked()) return first_->release();
  if (!mark_released()) return {errc::not_owner, "this lease was released before"};
  return release_members();
}

/// All at once, so that several dead stores cost one timeout.
result<void> composite_hold::release_members() {
  struct tally {
    std::mutex mutex;
    std::size_t left;
    std::size_t done = 0;
    result<void> first;
    parker all;
  };
  auto here = std::make_shared<tally>();
  const auto members = all();
  here->left = members.size();
  for (const auto& member : members) {
    static_cast<grant_hold&>(*member).begin_release([here](const result<void>& outcome) {
      std::lock_guard lock(here->mutex);
      if (outcome)
        ++here->done;
      else if (here->first)
        here->first = outcome;
      if (--here->left == 0) here->all.set();
    });
  }
  here->all.wait();
  std::lock_guard lock(here->mutex);
  if (here->done >= need_) return {};
  return here->first;
}

result<void> composite_hold::downgrade() { return {errc::unsupported, "only leases of a shared_mutex are downgraded"}; }
result<bool> composite_hold::try_upgrade() { return {errc::unsupported, "only leases of a shared_mutex are upgraded"}; }

void composite_hold::drop() noexcept {
  if (forked() || !mark_released()) return;
  // Each engine logs and goes on with what fails.
  [[maybe_unused]] const auto done = release_members();
}

}  // namespace holdfast::detail
