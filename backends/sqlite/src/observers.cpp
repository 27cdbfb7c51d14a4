#include "observers.hpp"

#include <sys/inotify.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace holdfast::sqlite {
namespace {

using namespace std::chrono_literals;

// A commit is written to the log first and shown to readers after it. Who is woken by the write may read in between,
// and no second write follows: so it reads again.
constexpr std::array<std::chrono::nanoseconds, 3> second_looks{10ms, 50ms, 250ms};

}  // namespace

observers::observers(spi::runtime& engine, std::string log_path) : engine_(engine), log_path_(std::move(log_path)) {}

observers::~observers() {
  if (inotify_) engine_.forget(inotify_.get());
  if (timer_ != 0) engine_.cancel(timer_);
  if (second_timer_ != 0) engine_.cancel(second_timer_);
}

void observers::start() {
  if (inotify_) return;
  inotify_ = descriptor(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify_ || ::inotify_add_watch(inotify_.get(), log_path_.c_str(), IN_MODIFY) < 0) {
    engine_.log(log_level::warning, log_path_ + ": cannot be watched; changes are seen late");
    return;
  }
  engine_.on_readable(inotify_.get(), [this] { read_events(); });
}

std::function<void()> observers::add(std::function<void()> changed) {
  auto one = std::make_shared<observer>();
  one->changed = std::move(changed);
  {
    std::lock_guard lock(mutex_);
    start();
    all_.push_back(one);
    count_ = static_cast<int>(all_.size());
  }
  return [weak = weak_from_this(), one] {
    {
      std::lock_guard callback(one->mutex);
      one->ended = true;
    }
    const auto self = weak.lock();
    if (!self) return;
    std::lock_guard lock(self->mutex_);
    std::erase(self->all_, one);
    self->count_ = static_cast<int>(self->all_.size());
  };
}

void observers::read_events() {
  // However many writes there were, they are one change.
  alignas(inotify_event) std::array<char, 4096> events;
  while (::read(inotify_.get(), events.data(), events.size()) > 0) {
  }
  changed();
  std::lock_guard lock(mutex_);
  second_looks_ = 0;
  if (second_timer_ == 0) look_again();
}

void observers::look_again() {
  second_timer_ = engine_.at(engine_.now() + second_looks.at(second_looks_), [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->changed();
    std::lock_guard lock(self->mutex_);
    self->second_timer_ = 0;
    if (++self->second_looks_ < second_looks.size()) self->look_again();
  });
}

void observers::changed() {
  std::vector<std::shared_ptr<observer>> all;
  {
    std::lock_guard lock(mutex_);
    all = all_;
  }
  for (const auto& one : all) {
    std::lock_guard callback(one->mutex);
    if (!one->ended) one->changed();
  }
}

void observers::saw(spi::time_point soonest, std::vector<std::shared_ptr<peer>> participants) {
  std::lock_guard lock(mutex_);
  participants_.swap(participants);
  if (timer_ != 0) engine_.cancel(timer_);
  timer_ = 0;
  if (soonest == spi::time_point::max()) return;
  timer_ = engine_.at(soonest, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->changed();
  });
}

}  // namespace holdfast::sqlite
