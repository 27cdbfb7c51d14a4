#include "obtain.hpp"

#include "../exit_code.hpp"
#include "wanted_lock.hpp"

#include <holdfast/error.hpp>

#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <chrono>
#include <memory>
#include <mutex>

namespace holdfast::cli {
namespace {

using outcome = std::variant<lease, cancelled>;
using clock = std::chrono::steady_clock;

/// Where a library thread leaves the answer for the thread that polls.
class answer {
 public:
  answer() : arrived_(::eventfd(0, EFD_CLOEXEC)) {
    if (!arrived_) throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
  }

  int fd() const noexcept { return arrived_.get(); }
  void put(result<lease> value) {
    {
      std::lock_guard lock(mutex_);
      value_.emplace(std::move(value));
    }
    ::eventfd_write(arrived_.get(), 1);
  }
  result<lease> take() {
    eventfd_t times = 0;
    ::eventfd_read(arrived_.get(), &times);  // Blocks until it is there.
    std::lock_guard lock(mutex_);
    return std::move(*value_);
  }

 private:
  unique_fd arrived_;
  std::mutex mutex_;
  std::optional<result<lease>> value_;
};

/// Comes back when the answer has arrived (nullopt) or somebody wants to end the wait.
std::optional<cancelled> listen(inbox& orders, int answered) {
  for (;;) {
    std::array<pollfd, 3> waits{
        {{answered, POLLIN, 0}, {orders.signal_fd(), POLLIN, 0}, {orders.supervisor_fd(), POLLIN, 0}}};
    ::poll(waits.data(), waits.size(), -1);
    if (auto ended = look_for_cancellation(orders)) return ended;
    if (waits[0].revents != 0) return std::nullopt;
  }
}

class waiting {
 public:
  waiting(const client& store, const run_request& request, inbox& orders)
      : wanted_(store, request), request_(request), orders_(orders) {
    if (request.wait.has_value()) give_up_ = clock::now() + std::min<clock::duration>(request.wait.value(), longest);
  }

  outcome obtain() {
    // Asked on this thread first: a free lock, the usual case, then costs no other thread.
    if (auto held = try_now()) return std::move(*held);
    if (auto ended = look_for_cancellation(orders_)) return *ended;
    const auto left = left_to_wait();
    if (left.has_value() && left.value() <= std::chrono::nanoseconds::zero()) {
      throw error({errc::timed_out, "somebody else holds it"}, "run", request_.name);
    }
    return wait(left);
  }

  bool use_other_kind() { return wanted_.use_other_kind(); }

 private:
  /// A store that is away may come back while we wait.
  std::optional<lease> try_now() {
    try {
      return wanted_.try_now();
    } catch (const error& e) {
      const auto left = left_to_wait();
      if (e.code() != errc::unavailable || (left.has_value() && left.value() <= std::chrono::nanoseconds::zero()))
        throw;
      return std::nullopt;
    }
  }

  static constexpr clock::duration longest = std::chrono::hours(24 * 365 * 10);

  optional_duration left_to_wait() const {
    if (!give_up_) return std::nullopt;
    return *give_up_ - clock::now();
  }

  outcome wait(optional_duration left) {
    const auto answered = std::make_shared<answer>();
    std::stop_source stop;
    wanted_.ask(left, stop.get_token()).then([answered](result<lease> r) { answered->put(std::move(r)); });

    const auto ended = listen(orders_, answered->fd());
    if (ended) stop.request_stop();
    auto got = answered->take();
    // A lease that was granted while we cancelled is released here, before anybody is told that the wait is over.
    if (ended) return *ended;
    if (!got) throw error(std::move(got).error(), "run", request_.name);
    return std::move(*got);
  }

  wanted_lock wanted_;
  const run_request& request_;
  inbox& orders_;
  std::optional<clock::time_point> give_up_;
};

}  // namespace

std::optional<cancelled> look_for_cancellation(inbox& orders) {
  while (const auto one = orders.next()) {
    if (one->what == order::kind::signal) return cancelled{exit_code::of_signal(one->signal)};
    if (one->what == order::kind::supervisor_gone) return cancelled{exit_code::of_signal(SIGKILL)};
  }
  return std::nullopt;
}

std::variant<lease, cancelled> obtain(const client& store, const run_request& request, inbox& orders) {
  waiting wait(store, request, orders);
  std::optional<error> first;
  // A name may change its kind between our looks, but not for ever.
  for (int attempts = 0; attempts < 4; ++attempts) {
    try {
      return wait.obtain();
    } catch (const error& refused) {
      if (refused.code() != errc::rejected) throw;
      if (!first) first = refused;
    }
    if (!wait.use_other_kind()) break;
  }
  throw *first;
}

}  // namespace holdfast::cli
