#include "heartbeat.hpp"

namespace holdfast::etcd {

heartbeat::heartbeat(wire& through, std::function<void()> silent) : wire_(through), silent_(std::move(silent)) {}

std::shared_ptr<heartbeat::line> heartbeat::connect() {
  if (line_) return line_;
  const std::weak_ptr<heartbeat> weak = weak_from_this();
  line_ = std::make_shared<line>(
      wire_,
      [](const member& with, grpc::ClientContext* context, grpc::CompletionQueue* queue) {
        return with.lease->PrepareAsyncLeaseKeepAlive(context, queue);
      },
      line::callbacks{[weak](const auto& reply) {
                        if (auto self = weak.lock()) self->heard(reply);
                      },
                      [weak](const grpc::Status& status) {
                        if (auto self = weak.lock()) self->broken(status);
                      }});
  return line_;
}

void heartbeat::beat(std::int64_t lease, spi::completion<outcome> done) {
  etcdserverpb::LeaseKeepAliveRequest request;
  request.set_id(lease);
  auto& engine = wire_.engine();
  std::shared_ptr<line> through;
  {
    // The order of questions is that of the stream: both are made under the lock.
    const std::lock_guard lock(mutex_);
    through = connect();
    const auto sent = engine.now();
    const auto timer = engine.at(sent + wire_.patience(), [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->overdue();
    });
    waiting_[lease].push_back({sent, std::move(done), timer});
    through->send(std::move(request));
  }
}

void heartbeat::heard(const etcdserverpb::LeaseKeepAliveResponse& reply) {
  asked first;
  {
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(reply.id());
    if (found == waiting_.end()) return;
    first = std::move(found->second.front());
    found->second.pop_front();
    if (found->second.empty()) waiting_.erase(found);
  }
  wire_.engine().cancel(first.timer);
  if (reply.ttl() <= 0) return first.done(outcome());
  first.done(outcome(first.sent + std::chrono::seconds(reply.ttl())));
}

void heartbeat::broken(const grpc::Status& status) {
  std::map<std::int64_t, std::deque<asked>> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(waiting_);
  }
  if (wants_new_token(status)) wire_.engine().post([&w = wire_] { w.log_in_again(); });
  for (auto& [lease, questions] : all) {
    for (auto& question : questions) {
      wire_.engine().cancel(question.timer);
      question.done(failure_of(status, wire_.shown()));
    }
  }
}

/// The stream is ended, which answers all that wait on it.
void heartbeat::overdue() {
  std::shared_ptr<line> through;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return;
    through = line_;
  }
  if (through) through->cut();
  silent_();
}

void heartbeat::close() {
  std::shared_ptr<line> through;
  {
    const std::lock_guard lock(mutex_);
    through = line_;
  }
  if (through) through->close();
}

}  // namespace holdfast::etcd
