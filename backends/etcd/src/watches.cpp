#include "watches.hpp"

#include <algorithm>

namespace holdfast::etcd {

using namespace std::chrono_literals;

namespace {

// A login is dear to the server, which stretches passwords; who has no right must not ask for one all the time.
constexpr std::chrono::nanoseconds between_logins = 10s;

std::chrono::nanoseconds pause_after(unsigned failures) {
  return std::min<std::chrono::nanoseconds>(10ms * (1U << std::min(failures, 7U)), 1s);
}

etcdserverpb::WatchRequest cancellation(std::int64_t number) {
  etcdserverpb::WatchRequest request;
  request.mutable_cancel_request()->set_watch_id(number);
  return request;
}

}  // namespace

std::shared_ptr<watches::line> watches::connect() {
  if (line_) return line_;
  const std::weak_ptr<watches> weak = weak_from_this();
  line_ = std::make_shared<line>(
      wire_,
      [](const member& with, grpc::ClientContext* context, grpc::CompletionQueue* queue) {
        return with.watch->PrepareAsyncWatch(context, queue);
      },
      line::callbacks{[weak](line::number on, const auto& reply) {
                        if (auto self = weak.lock()) self->heard(on, reply);
                      },
                      [weak](line::number which, const grpc::Status& status) {
                        if (auto self = weak.lock()) self->broken(which, status);
                      }});
  return line_;
}

watches::id watches::open(const std::string& first, const std::string& end, wanted which, listener tell) {
  etcdserverpb::WatchRequest request;
  auto& create_request = *request.mutable_create_request();
  create_request.set_key(first);
  create_request.set_range_end(end);
  if (which == wanted::deletions) create_request.add_filters(etcdserverpb::WatchCreateRequest::NOPUT);
  const std::lock_guard lock(mutex_);
  const id made = next_++;
  auto& what = open_[made];
  what.request = std::move(request);
  what.tell = std::make_shared<const listener>(std::move(tell));
  if (!beginning_again_ && !shut_) create(made, what);
  return made;
}

/// Under a number that the server has not seen: it may still know the last one.
void watches::create(id which, watch& what) {
  what.number = next_number_++;
  what.request.mutable_create_request()->set_watch_id(what.number);
  numbers_[what.number] = which;
  what.on = connect()->send(what.request);
  creating_.push_back({what.on, what.number});
}

void watches::take_off(watch& what) {
  numbers_.erase(what.number);
  what.number = 0;
}

void watches::close(id which) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(which);
  if (found == open_.end()) return;
  if (found->second.number != 0) line_->send(cancellation(found->second.number));
  take_off(found->second);
  open_.erase(found);
}

std::shared_ptr<const watches::listener> watches::find(std::int64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto which = numbers_.find(number);
  return which == numbers_.end() ? nullptr : open_.at(which->second).tell;
}

void watches::heard(line::number on, const etcdserverpb::WatchResponse& reply) {
  if (reply.created() || (reply.canceled() && reply.watch_id() < 0)) return on_created(on, reply);
  if (reply.canceled()) return on_ended(reply);
  if (reply.events().empty()) return;
  events_ += static_cast<std::uint64_t>(reply.events_size());
  for (const auto& event : reply.events()) {
    // Looked for each time: what is told of the one may close it.
    if (const auto told = find(reply.watch_id())) told->seen(event);
  }
}

/// Whose creation it is that was answered, and no longer awaited.
std::optional<std::int64_t> watches::created(line::number on, std::int64_t number) {
  const auto found = std::find_if(creating_.begin(), creating_.end(), [&](const creation& c) {
    // A refusal may have no number: it is that of the one whose turn it is.
    return c.on == on && (c.number == number || number < 0);
  });
  if (found == creating_.end()) return std::nullopt;
  const auto which = found->number;
  creating_.erase(found);
  return which;
}

void watches::on_created(line::number on, const etcdserverpb::WatchResponse& reply) {
  id which = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto number = created(on, reply.watch_id());
    if (!number) return;
    if (!reply.canceled()) failures_ = 0;
    const auto found = numbers_.find(*number);
    if (found == numbers_.end()) return;  // closed meanwhile
    which = found->second;
  }
  if (reply.canceled()) return on_refused(which, reply);
  if (const auto heard_by = find(reply.watch_id())) heard_by->began(reply.header().revision());
}

void watches::on_refused(id which, const etcdserverpb::WatchResponse& reply) {
  std::shared_ptr<const listener> told;
  {
    const std::lock_guard lock(mutex_);
    // The login of the stream is over, of which old servers say no more than that there is no right. Somebody has
    // logged in since: on a stream opened with that, it begins again with all others.
    if (line_->drop_old_login()) return;
    const auto found = open_.find(which);
    if (found == open_.end()) return;
    take_off(found->second);
    // Perhaps nobody has noticed yet that it is over.
    if (log_in_again()) return;
    told = found->second.tell;
    open_.erase(found);
  }
  told->refused(failure_of_watch(reply.cancel_reason()));
}

/// With the new login all that are on no stream begin again. False: it was made a moment ago, and is not to blame.
bool watches::log_in_again() {
  if (logging_in_) return true;
  auto& engine = wire_.engine();
  if (shut_ || !wire_.has_user() || (logged_in_ && engine.now() - *logged_in_ < between_logins)) return false;
  logging_in_ = true;
  engine.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    const auto good = self->wire_.log_in(self->wire_.patience());
    const std::lock_guard lock(self->mutex_);
    self->logging_in_ = false;
    if (good) self->logged_in_ = self->wire_.engine().now();
    self->line_->drop_old_login();
    self->begin_again_soon();
  });
  return true;
}

/// Also the answer to close(), which nobody waits for.
void watches::on_ended(const etcdserverpb::WatchResponse& reply) {
  const std::lock_guard lock(mutex_);
  const auto found = numbers_.find(reply.watch_id());
  if (found == numbers_.end()) return;
  // Compacted under it, or ended for a reason of the server's own: from now on again.
  take_off(open_.at(found->second));
  begin_again_soon();
}

void watches::broken(line::number which, const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  std::erase_if(creating_, [&](const creation& c) { return c.on <= which; });
  bool any = false;
  for (auto& [mine, what] : open_) {
    if (what.number == 0 || what.on > which) continue;  // it is on a newer one already
    take_off(what);
    any = true;
  }
  if (wants_new_token(status)) wire_.engine().post([&w = wire_] { w.log_in_again(); });
  if (any) begin_again_soon();
}

void watches::begin_again_soon() {
  if (shut_ || beginning_again_) return;
  beginning_again_ = true;
  auto& engine = wire_.engine();
  engine.at(engine.now() + pause_after(failures_++), [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->begin_again();
  });
}

void watches::begin_again() {
  const std::lock_guard lock(mutex_);
  if (shut_) return;
  beginning_again_ = false;
  for (auto& [which, what] : open_)
    if (what.number == 0) create(which, what);
}

std::shared_ptr<watches::line> watches::present() const {
  const std::lock_guard lock(mutex_);
  return line_;
}

void watches::cut() {
  if (const auto through = present()) through->cut();
}

void watches::cut_member(std::size_t index) {
  if (const auto through = present()) through->cut_member(index);
}

void watches::shut_down() {
  std::shared_ptr<line> through;
  {
    const std::lock_guard lock(mutex_);
    shut_ = true;
    open_.clear();
    numbers_.clear();
    through = line_;
  }
  if (through) through->close();
}

}  // namespace holdfast::etcd
