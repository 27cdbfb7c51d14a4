#include "watches.hpp"

#include <algorithm>

namespace holdfast::etcd {

using namespace std::chrono_literals;

namespace {

std::chrono::nanoseconds pause_after(unsigned failures) {
  return std::min<std::chrono::nanoseconds>(10ms * (1U << std::min(failures, 7U)), 1s);
}

etcdserverpb::WatchRequest cancellation(watches::id which) {
  etcdserverpb::WatchRequest request;
  request.mutable_cancel_request()->set_watch_id(which);
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
      line::callbacks{[weak](const auto& reply) {
                        if (auto self = weak.lock()) self->heard(reply);
                      },
                      [weak](const grpc::Status& status) {
                        if (auto self = weak.lock()) self->broken(status);
                      }});
  return line_;
}

watches::id watches::open(const std::string& first, const std::string& end, wanted which, listener tell) {
  etcdserverpb::WatchRequest request;
  auto& create = *request.mutable_create_request();
  create.set_key(first);
  create.set_range_end(end);
  if (which == wanted::deletions) create.add_filters(etcdserverpb::WatchCreateRequest::NOPUT);
  const std::lock_guard lock(mutex_);
  const id made = next_++;
  create.set_watch_id(made);
  open_.emplace(made, watch{request, std::make_shared<const listener>(std::move(tell))});
  if (beginning_again_) return made;
  creating_.push_back(made);
  connect()->send(std::move(request));
  return made;
}

void watches::close(id which) {
  const std::lock_guard lock(mutex_);
  if (open_.erase(which) > 0 && !beginning_again_) line_->send(cancellation(which));
}

std::shared_ptr<const watches::listener> watches::find(id which) const {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(which);
  return found == open_.end() ? nullptr : found->second.tell;
}

void watches::heard(const etcdserverpb::WatchResponse& reply) {
  if (reply.created() || (reply.canceled() && reply.watch_id() < 0)) return on_created(reply);
  if (reply.canceled()) return on_ended(reply);
  if (reply.events().empty()) return;
  events_ += static_cast<std::uint64_t>(reply.events_size());
  for (const auto& event : reply.events()) {
    // Looked for each time: what is told of the one may close it.
    if (const auto told = find(reply.watch_id())) told->seen(event);
  }
}

void watches::on_created(const etcdserverpb::WatchResponse& reply) {
  id which = 0;
  {
    const std::lock_guard lock(mutex_);
    failures_ = 0;
    if (creating_.empty()) return;
    // A refusal has no number: it is that of the one whose turn it is.
    auto at = std::find(creating_.begin(), creating_.end(), reply.watch_id());
    if (at == creating_.end()) at = creating_.begin();
    which = *at;
    creating_.erase(at);
  }
  if (!reply.canceled()) {
    if (const auto heard_by = find(which)) heard_by->began(reply.header().revision());
    return;
  }
  // Refused at once; the number in the answer is none.
  std::shared_ptr<const listener> told;
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(which);
    if (found == open_.end()) return;
    told = found->second.tell;
    open_.erase(found);
  }
  told->refused(failure_of_watch(reply.cancel_reason()));
}

/// Also the answer to close(), which nobody waits for.
void watches::on_ended(const etcdserverpb::WatchResponse& reply) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(reply.watch_id());
  if (found == open_.end()) return;
  // Compacted under it, or ended for a reason of the server's own: from now on again.
  if (beginning_again_) return;
  creating_.push_back(found->first);
  line_->send(found->second.request);
}

void watches::broken(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  creating_.clear();
  if (open_.empty() || shut_) return;
  beginning_again_ = true;
  auto& engine = wire_.engine();
  if (wants_new_token(status)) engine.post([&w = wire_] { w.log_in_again(); });
  engine.at(engine.now() + pause_after(failures_++), [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->begin_again();
  });
}

void watches::begin_again() {
  const std::lock_guard lock(mutex_);
  if (shut_) return;
  beginning_again_ = false;
  for (const auto& [which, what] : open_) {
    creating_.push_back(which);
    line_->send(what.request);
  }
}

void watches::cut() {
  std::shared_ptr<line> through;
  {
    const std::lock_guard lock(mutex_);
    through = line_;
  }
  if (through) through->cut();
}

void watches::shut_down() {
  std::shared_ptr<line> through;
  {
    const std::lock_guard lock(mutex_);
    shut_ = true;
    open_.clear();
    through = line_;
  }
  if (through) through->close();
}

}  // namespace holdfast::etcd
