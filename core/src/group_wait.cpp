#include "group_wait.hpp"

#include "terms.hpp"

namespace holdfast::detail {

group_wait::group_wait(const mutex_list& members, const acquire_options& options, std::stop_token stop,
                       acquisition::completion done)
    : members_(members_of(members)),
      name_(combined_name(members)),
      options_(options),
      stop_(std::move(stop)),
      events_(std::make_shared<strand>(first_engine().callbacks())),
      done_(std::move(done)),
      asked_(members_.size()) {
  const auto now = first_engine().now();
  if (waits() && options_.wait.has_value() && options_.wait.value() < lease_clock::time_point::max() - now)
    deadline_ = now + options_.wait.value();
}

std::function<void()> group_wait::start(const std::shared_ptr<group_wait>& self) {
  if (auto good = check_combined(self->options_, self->stop_); !good) {
    self->done_(good.error());
    return [] {};
  }
  for (const auto& member : self->members_) {
    if (member.engine->in_own_process()) continue;
    self->done_(failure{errc::unsupported, "this client was made before fork(); connect again in the child"});
    return [] {};
  }
  const std::weak_ptr<group_wait> weak = self;
  const auto give_up_with = [weak](errc code) {
    if (auto s = weak.lock(); s && s->first_engine().in_own_process())
      s->post([p = s.get(), code] { p->answer_early(code); });
  };
  self->post([p = self.get(), give_up_with] {
    if (p->stop_.stop_possible()) p->on_stop_.emplace(p->stop_, [give_up_with] { give_up_with(errc::cancelled); });
    if (p->deadline_)
      p->deadline_timer_ =
          p->first_engine().time().at(*p->deadline_, [give_up_with] { give_up_with(errc::timed_out); });
    p->begin();
  });
  return [give_up_with] { give_up_with(errc::cancelled); };
}

void group_wait::answer_early(errc code) {
  if (over_) return;
  std::size_t missed = 0;
  for (std::size_t i = 0; i < members_.size(); ++i) missed += silent(i) ? 1 : 0;
  // Silence to the end is not contention.
  if (code == errc::timed_out && missed > spare())
    finish(failure{errc::unavailable, std::to_string(missed) + " of " + std::to_string(members_.size()) +
                                          " stores did not answer within the wait"});
  else
    finish(failure{code, {}});
  give_up();
}

void group_wait::post(std::function<void()> task) {
  events_->post([self = shared_from_this(), task = std::move(task)] { task(); });
}

void group_wait::later(std::chrono::nanoseconds pause, std::function<void()> task) {
  auto& e = first_engine();
  e.time().at(e.now() + pause, [self = shared_from_this(), task = std::move(task)] { self->post(task); });
}

void group_wait::meanwhile(std::chrono::nanoseconds pause, std::function<void()> task) {
  auto& e = first_engine();
  e.time().at(e.now() + pause, [weak = weak_from_this(), task = std::move(task)] {
    if (auto self = weak.lock()) self->post(task);
  });
}

void group_wait::ask(std::size_t index, std::uint64_t round, optional_duration wait) {
  const auto& member = members_[index];
  acquire_options options = options_;
  options.wait = wait;
  asked_[index] = detail::begin(
      *member.engine, member.claim, options, {}, spi::caller::must_not_block,
      [self = shared_from_this(), index, round](result<std::shared_ptr<hold>> outcome) {
        auto shared = std::make_shared<result<std::shared_ptr<hold>>>(std::move(outcome));
        self->post([p = self.get(), index, round, shared] { p->on_member(index, round, std::move(*shared)); });
      });
}

void group_wait::cancel_asked() {
  for (std::size_t i = 0; i < asked_.size(); ++i) cancel(i);
}

void group_wait::cancel(std::size_t index) {
  if (auto asked = asked_[index].lock()) asked->cancel();
}

bool group_wait::silent(std::size_t index) const {
  const auto asked = asked_[index].lock();
  return asked && asked->silent();
}

optional_duration group_wait::time_left() const {
  if (!waits()) return optional_duration(0ns);
  if (!deadline_) return {};
  return std::max<std::chrono::nanoseconds>(*deadline_ - first_engine().now(), 0ns);
}

void group_wait::finish(result<std::shared_ptr<hold>> outcome) {
  if (std::exchange(over_, true)) return;
  on_stop_.reset();
  first_engine().time().cancel(deadline_timer_);
  auto done = std::move(done_);
  done(std::move(outcome));
}

void group_wait::drop(holds& held) noexcept {
  for (auto& h : held)
    if (h) h->drop();
  held.clear();
}

std::chrono::nanoseconds group_wait::jitter(std::chrono::nanoseconds least) {
  thread_local std::minstd_rand random{std::random_device{}()};
  return least + std::chrono::nanoseconds(std::uniform_int_distribution<std::int64_t>(0, least.count())(random));
}

}  // namespace holdfast::detail
