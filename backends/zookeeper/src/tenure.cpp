#include "tenure.hpp"

#include <algorithm>

namespace holdfast::zookeeper {

using namespace std::chrono_literals;

namespace {

constexpr tenure::duration margin(tenure::duration timeout) { return timeout / 50 + 10ms; }

}  // namespace

void tenure::begin(spi::time_point now) {
  const std::lock_guard lock(mutex_);
  answers_.clear();
  newest_ = known_ = apart_ = now;
  end_ = std::make_shared<std::atomic<spi::time_point::duration>>();
}

void tenure::apart(spi::time_point now) {
  const std::lock_guard lock(mutex_);
  apart_ = std::max(apart_, now);
}

void tenure::connected(duration timeout) {
  const std::lock_guard lock(mutex_);
  timeout_ = timeout;
  // We asked for this connection after we had the last answer over the one before.
  known_ = std::max({known_, newest_, apart_});
  answers_.clear();
}

void tenure::note(spi::time_point sent, spi::time_point now) {
  newest_ = std::max(newest_, sent);
  // A few per timeout are enough.
  if (answers_.empty() || sent >= answers_.back().sent + timeout_ / 64) answers_.push_back({sent, now});
}

void tenure::heard(spi::time_point sent, spi::time_point now) {
  const std::lock_guard lock(mutex_);
  note(sent, now);
}

void tenure::committed(spi::time_point sent, spi::time_point now) {
  const std::lock_guard lock(mutex_);
  while (!answers_.empty() && answers_.front().at <= sent - timeout_ / 4) {
    known_ = std::max(known_, answers_.front().sent);
    answers_.pop_front();
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
