#include "reentrant_core.hpp"

#include "ask.hpp"

namespace holdfast::detail {

namespace {

/// One entry of several: ends the outer hold when it is the last to go.
class nested_hold final : public hold {
 public:
  nested_hold(std::shared_ptr<reentrant_core> core, std::shared_ptr<hold> outer, std::uint32_t tenure)
      : core_(std::move(core)), outer_(std::move(outer)), tenure_(tenure) {}

  const std::string& name() const noexcept override { return outer_->name(); }
  std::string id() const override { return outer_->id(); }
  fencing_token token() const noexcept override { return outer_->token(); }
  lease_clock::time_point valid_until() const noexcept override { return outer_->valid_until(); }
  lease_clock::time_point now() const noexcept override { return outer_->now(); }
  bool valid() const noexcept override { return !released_ && outer_->valid(); }
  std::stop_token lost() const noexcept override { return outer_->lost(); }
  loss loss_cause() const noexcept override { return outer_->loss_cause(); }

  result<void> renew() override { return released_ ? result<void>(not_held()) : outer_->renew(); }
  result<void> release() override {
    if (released_.exchange(true)) return not_held();
    auto left = core_->leave(tenure_);
    if (left.last) return left.last->release();
    if (outer_->loss_cause() != loss::none) return {errc::lost, to_string(outer_->loss_cause())};
    return {};
  }
  result<void> downgrade() override { return outer_->downgrade(); }
  result<bool> try_upgrade() override { return outer_->try_upgrade(); }
  void drop() noexcept override {
    if (released_.exchange(true)) return;
    if (auto left = core_->leave(tenure_); left.last) left.last->drop();
  }

 private:
  static failure not_held() { return {errc::not_owner, "this lease was released before"}; }

  const std::shared_ptr<reentrant_core> core_;
  const std::shared_ptr<hold> outer_;
  const std::uint32_t tenure_;
  std::atomic<bool> released_{false};
};

}  // namespace

std::uint64_t this_thread_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  thread_local const std::uint64_t mine = ++last;
  return mine;
}

reentrant_core::reentrant_core(std::shared_ptr<detail::engine> e, std::string n, lock_options o)
    : engine(std::move(e)), name(std::move(n)), options(o) {}

reentrant_core::~reentrant_core() {
  if (outer_) outer_->drop();
}

std::optional<reentrant_core::tenure> reentrant_core::reenter() {
  auto word = word_.load();
  // After the word: adopt() clears the owner before it changes the word and sets the new one after.
  if (owner_.load() != this_thread_number()) return std::nullopt;
  require_own_process(*engine, "lock", name);
  do {
    if (depth_of(word) == 0) return std::nullopt;
  } while (!word_.compare_exchange_weak(word, word + 1) && owner_.load() == this_thread_number());
  if (owner_.load() != this_thread_number()) return std::nullopt;
  // Counted in first: now the hold cannot go away while it is looked at.
  const auto* outer = current_.load();
  if (outer == nullptr || !outer->known_lost()) return tenure_of(word);
  const auto cause = outer->loss_cause();
  leave(tenure_of(word));
  throw error({errc::lost, to_string(cause)}, "lock", name);
}

reentrant_core::tenure reentrant_core::adopt(std::shared_ptr<hold> outer, std::uint64_t owner) {
  std::lock_guard lock(mutex_);
  const auto before = tenure_of(word_.load());
  const tenure mine = before + 1;
  owner_ = 0;
  word_ = std::uint64_t{mine} << 32 | 1;
  current_ = static_cast<const grant_hold*>(outer.get());
  if (auto replaced = std::exchange(outer_, std::move(outer))) retired_.emplace_back(before, std::move(replaced));
  if (retired_.size() > 16) retired_.pop_front();
  owner_ = owner;
  return mine;
}

reentrant_core::departure reentrant_core::leave(tenure entered) noexcept {
  std::lock_guard lock(mutex_);
  auto word = word_.load();
  do {
    if (tenure_of(word) != entered || depth_of(word) == 0) return {};
  } while (!word_.compare_exchange_weak(word, word - 1));
  if (depth_of(word) > 1) return {true, nullptr};
  owner_ = 0;
  current_ = nullptr;
  return {true, std::move(outer_)};
}

bool reentrant_core::unlock() noexcept {
  auto word = word_.load();
  if (owner_.load() != this_thread_number()) return false;
  while (depth_of(word) > 1) {
    if (word_.compare_exchange_weak(word, word - 1)) return true;
    if (owner_.load() != this_thread_number()) return false;
  }
  auto left = leave(tenure_of(word));
  if (left.last) left.last->drop();
  return left.current;
}

lease reentrant_core::nested(tenure entered) {
  std::lock_guard lock(mutex_);
  if (tenure_of(word_.load()) == entered && outer_)
    return lease(std::make_shared<nested_hold>(shared_from_this(), outer_, entered));
  for (const auto& [number, replaced] : retired_)
    if (number == entered) return lease(std::make_shared<nested_hold>(shared_from_this(), replaced, entered));
  throw error({errc::lost, "it was lost and taken again since"}, "acquire", name);
}

}  // namespace holdfast::detail
