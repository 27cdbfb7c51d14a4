#pragma once

#include "combine.hpp"

#include <random>

namespace holdfast::detail {

/// What waiting for several locks at once has in common: one answer, a deadline, cancellation, and that holds which
/// come too late or are given back are dropped where blocking is allowed.
///
/// Derived classes get events one at a time, under no lock, on an executor of their own (a strand), and may block there
/// only by dropping holds.
class group_wait : public std::enable_shared_from_this<group_wait> {
 public:
  group_wait(const mutex_list& members, const acquire_options& options, std::stop_token stop,
             acquisition::completion done);
  virtual ~group_wait() = default;
  /// Begins, and returns what cancels it.
  static std::function<void()> start(const std::shared_ptr<group_wait>& self);

 protected:
  using holds = std::vector<std::shared_ptr<hold>>;

  virtual void begin() = 0;
  virtual void on_member(std::size_t index, std::uint64_t round, result<std::shared_ptr<hold>> outcome) = 0;
  virtual void give_up() = 0;  ///< Answered without a lease: drop and cancel everything.
  /// So many members may stay silent without being missed.
  virtual std::size_t spare() const noexcept { return 0; }

  bool over() const noexcept { return over_; }
  bool waits() const noexcept {
    return !options_.wait.has_value() || options_.wait.value() > std::chrono::nanoseconds::zero();
  }
  void ask(std::size_t index, std::uint64_t round, optional_duration wait);
  void cancel_asked();
  /// Asked, and the store has said nothing yet.
  bool silent(std::size_t index) const;
  void cancel(std::size_t index);
  optional_duration time_left() const;
  /// Runs `task` after `pause`; until then the wait lives. meanwhile() does not keep it alive.
  void later(std::chrono::nanoseconds pause, std::function<void()> task);
  void meanwhile(std::chrono::nanoseconds pause, std::function<void()> task);
  void post(std::function<void()> task);
  void finish(result<std::shared_ptr<hold>> outcome);
  static void drop(holds& held) noexcept;
  static std::chrono::nanoseconds jitter(std::chrono::nanoseconds least);
  engine& first_engine() const { return *members_.front().engine; }

  const std::vector<group_member> members_;
  const std::string name_;
  const acquire_options options_;

 private:
  void answer_early(errc code);

  const std::stop_token stop_;
  const std::shared_ptr<strand> events_;
  std::optional<lease_clock::time_point> deadline_;
  acquisition::completion done_;
  bool over_ = false;
  scheduler::timer deadline_timer_ = 0;
  std::vector<std::weak_ptr<acquisition>> asked_;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

}  // namespace holdfast::detail
