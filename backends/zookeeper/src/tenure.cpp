#include "tenure.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::zookeeper {

using namespace std::chrono_literals;

namespace {

// As they are noted at least a 64th of the timeout apart, these reach far enough back.
constexpr std::size_t most_answers = 32;

constexpr tenure::duration margin(tenure::duration timeout) { return timeout / 50 + 10ms; }

}  // namespace

void tenure::begin(spi::time_point now) {
  const std::lock_guard lock(mutex_);
  answers_.clear();
  step_.reset();
  newest_ = known_ = apart_ = last_look_ = now;
  end_ = std::make_shared<std::atomic<spi::time_point::duration>>();
}

void tenure::apart(spi::time_point now) {
  const std::lock_guard lock(mutex_);
  apart_ = std::exchange(last_look_, std::max(last_look_, now));
}

void tenure::forget_apart() {
  const std::lock_guard lock(mutex_);
  apart_ = last_look_ = known_;
}

void tenure::connected(duration timeout) {
  const std::lock_guard lock(mutex_);
  timeout_ = timeout;
  // We asked for this connection after we had the last answer over the one before.
  known_ = std::max({known_, newest_, apart_});
  answers_.clear();
  step_.reset();
}

void tenure::note(spi::time_point sent, spi::time_point now) {
  newest_ = std::max(newest_, sent);
  // A few per timeout are enough.
  if (!answers_.empty() && sent < answers_.back().sent + timeout_ / 64) return;
  answers_.push_back({sent, now});
  if (answers_.size() > most_answers) answers_.pop_front();
}

void tenure::heard(spi::time_point sent, spi::time_point now) {
  const std::lock_guard lock(mutex_);
  note(sent, now);
}

void tenure::committed(spi::time_point sent, spi::time_point now) {
  const std::lock_guard lock(mutex_);
  // The leader may have stood still all that time, and pinged nobody.
  if (now - sent > timeout_ / 8)
    while (!answers_.empty() && (!step_ || answers_.back().at > step_->at)) answers_.pop_back();
  if (!step_ || sent >= step_->at) {
    const auto before = step_ ? std::min(step_->sent, sent - 3 * timeout_ / 8) : spi::time_point::min();
    for (; !answers_.empty() && answers_.front().at <= before; answers_.pop_front())
      known_ = std::max(known_, answers_.front().sent);
    step_ = answer{sent, now};
  }
  note(sent, now);
  const auto end = (known_ + timeout_ - margin(timeout_)).time_since_epoch();
  if (end_->load() < end) *end_ = end;
}

tenure::duration tenure::timeout() const {
  const std::lock_guard lock(mutex_);
  return timeout_;
}

spi::time_point tenure::end() const {
  const std::lock_guard lock(mutex_);
  return spi::time_point(end_->load());
}

tenure::shared_end tenure::ends() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

}  // namespace holdfast::zookeeper
