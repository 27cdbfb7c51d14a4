#include "observation.hpp"

#include "file_name.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <cstring>

namespace holdfast::file {
namespace {

constexpr std::chrono::milliseconds pause{250};
constexpr std::uint32_t heard = IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_TO;

}  // namespace

observation::observation(spi::runtime& engine, std::string prefix, std::function<void()> changed)
    : engine_(engine), prefix_(std::move(prefix)), changed_(std::move(changed)) {}

std::shared_ptr<observation> observation::start(spi::runtime& engine, const directory& where, std::string prefix,
                                                std::function<void()> changed) {
  auto started = std::make_shared<observation>(engine, std::move(prefix), std::move(changed));
  started->inotify_ = descriptor(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  // Without inotify there is still the look from time to time.
  if (started->inotify_ && ::inotify_add_watch(started->inotify_.get(), where.path().c_str(), heard) >= 0) {
    // Kept alive while it reads: a callback may end it, and who made it may then let it go.
    engine.on_readable(started->inotify_.get(), [weak = std::weak_ptr(started)] {
      if (const auto self = weak.lock()) self->on_events();
    });
  }
  started->look_later();
  return started;
}

void observation::end() noexcept {
  if (inotify_) engine_.forget(inotify_.get());
  std::lock_guard lock(mutex_);
  ended_ = true;
  engine_.cancel(timer_);
}

void observation::on_events() {
  alignas(inotify_event) char buffer[16 * 1024];
  bool ours = false;
  for (;;) {
    const auto got = ::read(inotify_.get(), buffer, sizeof buffer);
    if (got <= 0) break;
    for (const char* at = buffer; at < buffer + got;) {
      inotify_event event{};
      std::memcpy(&event, at, sizeof event);
      ours = ours || (event.mask & IN_Q_OVERFLOW) != 0 || (event.len != 0 && concerns(at + sizeof event));
      at += sizeof event + event.len;
    }
  }
  if (ours) call();
}

bool observation::concerns(const char* file_name) const {
  const auto name = to_lock_name(file_name);
  return name ? name->starts_with(prefix_) : is_cut(file_name);
}

void observation::look_later() {
  std::lock_guard lock(mutex_);
  if (ended_) return;
  timer_ = engine_.at(engine_.now() + pause, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->call();
    self->look_later();
  });
}

void observation::call() {
  std::lock_guard lock(mutex_);
  if (!ended_) changed_();
}

}  // namespace holdfast::file
