#pragma once

#include <holdfast/backend.hpp>

#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

namespace holdfast::testing {

/// One operation of a scripted store: records the calls and answers each as planned, at once or when told.
///
/// Thread safety: safe; completions run outside its lock, on the calling thread.
template <class Request, class Answer>
class scripted_operation {
 public:
  using outcome = result<Answer>;

  /// The next call that has no plan yet gets this answer at once.
  template <class With>
  void answers(With with) {
    std::lock_guard lock(mutex_);
    plans_.push_back(outcome(std::move(with)));
  }
  /// The next call that has no plan yet stays open until complete().
  void holds_back() {
    std::lock_guard lock(mutex_);
    plans_.push_back(std::nullopt);
  }
  /// What calls without a plan get; nullopt: they stay open.
  void otherwise(std::function<std::optional<outcome>(const Request&)> policy) {
    std::lock_guard lock(mutex_);
    policy_ = std::move(policy);
  }

  /// Answers the oldest open call.
  template <class With>
  void complete(With with) {
    take_open(0).done(outcome(std::move(with)));
  }
  /// Answers every open call that `which` picks.
  template <class Which>
  void complete_if(Which which, const outcome& with) {
    for (std::size_t i = 0; i < open();) {
      std::unique_lock lock(mutex_);
      const bool picked = which(open_[i].request);
      lock.unlock();
      if (!picked)
        ++i;
      else
        take_open(i).done(with);
    }
  }
  /// Forgets the open calls unanswered, as a store that is gone.
  void hang_up() {
    std::deque<call> dropped;
    std::lock_guard lock(mutex_);
    dropped.swap(open_);
  }

  std::vector<Request> calls() const {
    std::lock_guard lock(mutex_);
    return calls_;
  }
  std::size_t count() const {
    std::lock_guard lock(mutex_);
    return calls_.size();
  }
  std::size_t open() const {
    std::lock_guard lock(mutex_);
    return open_.size();
  }

  /// For the backend.
  void on_call(Request request, spi::completion<Answer> done) {
    std::unique_lock lock(mutex_);
    calls_.push_back(request);
    std::optional<outcome> answer;
    if (!plans_.empty()) {
      answer = std::move(plans_.front());
      plans_.pop_front();
    } else if (policy_) {
      answer = policy_(request);
    }
    if (!answer) {
      open_.push_back({std::move(request), std::move(done)});
      return;
    }
    lock.unlock();
    done(std::move(*answer));
  }

 private:
  struct call {
    Request request;
    spi::completion<Answer> done;
  };

  call take_open(std::size_t index) {
    std::lock_guard lock(mutex_);
    if (index >= open_.size()) throw std::logic_error("no such open call");
    auto taken = std::move(open_[index]);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));
    return taken;
  }

  mutable std::mutex mutex_;
  std::deque<std::optional<outcome>> plans_;
  std::function<std::optional<outcome>(const Request&)> policy_;
  std::vector<Request> calls_;
  std::deque<call> open_;
};

}  // namespace holdfast::testing
