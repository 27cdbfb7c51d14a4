#pragma once

#include "fork_generation.hpp"
#include "guarded.hpp"

#include <holdfast/detail/hold.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace holdfast::detail {

/// Several holds as one, held while `need` of them are: all of a multi_mutex, the majority of a quorum_mutex.
///
/// Thread safety: safe.
class composite_hold final : public hold {
 public:
  composite_hold(std::string name, std::vector<std::shared_ptr<hold>> members, std::size_t need);
  ~composite_hold() override;

  /// One more that came later: with it, one more may be lost. False: released meanwhile, it is the caller's to give
  /// back.
  bool join(std::shared_ptr<hold> member);
  /// Called once when this is released, before its members are. Set before it is handed out.
  void on_end(std::function<void()> call) { on_end_ = std::move(call); }

  const std::string& name() const noexcept override { return name_; }
  std::string id() const override { return first_->id(); }
  fencing_token token() const noexcept override { return token_; }
  lease_clock::time_point valid_until() const noexcept override;
  lease_clock::time_point now() const noexcept override { return first_->now(); }
  bool valid() const noexcept override;
  std::stop_token lost() const noexcept override;
  loss loss_cause() const noexcept override;

  result<void> renew() override;
  result<void> release() override;
  result<void> downgrade() override;
  result<bool> try_upgrade() override;
  void drop() noexcept override;

 private:
  using hold_list = std::vector<std::shared_ptr<hold>>;
  using loss_watch = std::unique_ptr<std::stop_callback<std::function<void()>>>;
  struct state {
    hold_list members;
    std::vector<loss_watch> watches;
  };

  hold_list all() const {
    return state_.with([](const state& s) { return s.members; });
  }
  /// In a forked child a lock of this may be held for ever: the members, which know that they are not the child's,
  /// answer.
  bool forked() const noexcept { return fork_generation() != generation_; }
  loss_watch watch(const hold& member);
  result<void> each(const std::function<result<void>(hold&)>& act);
  bool mark_released() noexcept;
  result<void> release_members();
  void count_losses() const noexcept;

  const std::uint64_t generation_ = fork_generation();
  const std::string name_;
  const std::shared_ptr<hold> first_;
  const std::size_t need_;
  const fencing_token token_;
  std::atomic<bool> released_{false};
  std::stop_source source_;
  std::function<void()> on_end_;
  guarded<state> state_;  // of those, `released_` changes under its lock
};

}  // namespace holdfast::detail
