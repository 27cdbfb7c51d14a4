#include "reentrant_core.hpp"

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
    auto undone = core_->leave(tenure_);
    if (undone.last) return undone.last->release();
    if (outer_->loss_cause() != loss::none) return {errc::lost, to_string(outer_->loss_cause())};
    return {};
  }
  result<void> downgrade() override { return outer_->downgrade(); }
  result<bool> try_upgrade() override { return outer_->try_upgrade(); }
  void drop() noexcept override {
    if (released_.exchange(true)) return;
    if (auto undone = core_->leave(tenure_); undone.last) undone.last->drop();
  }

 private:
  static failure not_held() { return {errc::not_owner, "this lease was released before"}; }

  const std::shared_ptr<reentrant_core> core_;
  const std::shared_ptr<hold> outer_;
  const std::uint32_t tenure_;
  std::atomic<bool> released_{false};
};

}  // namespace

reentrant_core::reentrant_core(client c, std::string n, lock_options o)
    : store(std::move(c)), name(std::move(n)), options(o) {}

bool reentrant_core::reenter() {
  auto word = word_.load();
  // After the word: adopt() writes the owner before it, so that a new word is never seen with an old owner.
  if (owner_.load() != std::this_thread::get_id()) return false;
  do {
    if (depth_of(word) == 0) return false;
    const auto* outer = current_.load();
    if (outer != nullptr && outer->known_lost())
      throw error({errc::lost, to_string(outer->loss_cause())}, "lock", name);
  } while (!word_.compare_exchange_weak(word, word + 1) && owner_.load() == std::this_thread::get_id());
  return owner_.load() == std::this_thread::get_id();
}

void reentrant_core::adopt(std::shared_ptr<hold> outer, std::thread::id owner) {
  std::lock_guard lock(mutex_);
  current_ = static_cast<const grant_hold*>(outer.get());
  if (auto before = std::exchange(outer_, std::move(outer))) retired_.push_back(std::move(before));
  if (retired_.size() > 16) retired_.pop_front();
  owner_ = owner;
  word_ = (std::uint64_t{tenure_of(word_.load())} + 1) * one_tenure + 1;
}

reentrant_core::undone reentrant_core::leave(std::uint32_t tenure) noexcept {
  std::lock_guard lock(mutex_);
  auto word = word_.load();
  for (;;) {
    if (tenure_of(word) != tenure || depth_of(word) == 0) return {};
    if (depth_of(word) == 1) owner_ = std::thread::id();
    if (word_.compare_exchange_strong(word, word - 1)) break;
  }
  if (depth_of(word) > 1) return {true, nullptr};
  current_ = nullptr;
  return {true, std::move(outer_)};
}

bool reentrant_core::unlock() noexcept {
  auto word = word_.load();
  if (owner_.load() != std::this_thread::get_id()) return false;
  while (depth_of(word) > 1) {
    if (word_.compare_exchange_weak(word, word - 1)) return true;
    if (owner_.load() != std::this_thread::get_id()) return false;
  }
  auto left = leave(tenure_of(word));
  if (left.last) left.last->drop();
  return left.current;
}

lease reentrant_core::nested() {
  std::lock_guard lock(mutex_);
  return lease(std::make_shared<nested_hold>(shared_from_this(), outer_, tenure_of(word_.load())));
}

}  // namespace holdfast::detail
