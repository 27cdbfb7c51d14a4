#pragma once

#include "store_grant.hpp"

#include <holdfast/detail/function.hpp>
#include <holdfast/detail/hold.hpp>

#include <atomic>
#include <memory>
#include <mutex>

namespace holdfast::detail {

class engine;

/// A lease's hold on one grant of a store.
///
/// | state    | leaves by                                      |
/// |----------|------------------------------------------------|
/// | held     | release (released) or lose (lost), one of them |
/// | released | -                                              |
/// | lost     | release, which says so once (released)         |
class grant_hold final : public hold, public std::enable_shared_from_this<grant_hold> {
 public:
  grant_hold(std::shared_ptr<engine> engine, std::shared_ptr<store_grant> grant, fencing_token token);
  ~grant_hold() override;

  const std::string& name() const noexcept override { return grant_->name(); }
  std::string id() const override { return grant_->id().hex(); }
  fencing_token token() const noexcept override { return token_; }
  lease_clock::time_point valid_until() const noexcept override;
  lease_clock::time_point now() const noexcept override;
  bool valid() const noexcept override;
  std::stop_token lost() const noexcept override;
  loss loss_cause() const noexcept override;

  result<void> renew() override;
  result<void> release() override;
  result<void> downgrade() override;
  result<bool> try_upgrade() override;
  void drop() noexcept override;
  /// release() for those who end several at once and wait once.
  void begin_release(unique_function<void(result<void>)> done);

  /// held -> lost. False: it was not held any more. The caller signals.
  bool lose(loss cause) noexcept;
  /// Stops the token lost() gave out. Runs the user's stop_callbacks.
  void signal_loss() const noexcept;

  const std::shared_ptr<store_grant>& grant() const noexcept { return grant_; }
  /// As far as is known without looking at the clock.
  bool known_lost() const noexcept { return status_.load().cause != loss::none; }
  lease_clock::time_point since() const noexcept { return since_; }

 private:
  enum class state : std::uint16_t { held, released, lost };

  void look_at_clock() const noexcept;
  bool held() const noexcept { return status_.load().what == state::held; }
  bool end(state as, loss cause) noexcept;
  failure not_held() const;
  result<void> mark_released();
  result<bool> convert(spi::access to);

  const std::shared_ptr<engine> engine_;
  const std::shared_ptr<store_grant> grant_;
  const fencing_token token_;
  const lease_clock::time_point since_;

  /// Both in one word: a loss is never seen without its cause.
  struct status {
    state what = state::held;
    loss cause = loss::none;
  };
  std::atomic<status> status_{};

  // Made when first asked for: most holds end without anybody looking.
  mutable std::mutex source_mutex_;
  mutable std::stop_source source_{std::nostopstate};
};

}  // namespace holdfast::detail
