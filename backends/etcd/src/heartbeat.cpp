#include "heartbeat.hpp"

#include <algorithm>
#include <vector>

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
      line::callbacks{[weak](line::number on, const auto& reply) {
                        if (auto self = weak.lock()) self->heard(on, reply);
                      },
                      [weak](line::number which, const grpc::Status& status) {
                        if (auto self = weak.lock()) self->broken(which, status);
                      }});
  return line_;
}

void heartbeat::beat(std::int64_t lease, spi::completion<outcome> done) {
  etcdserverpb::LeaseKeepAliveRequest request;
  request.set_id(lease);
  auto& engine = wire_.engine();
  {
    // The order of questions is that of the stream: both are made under the lock.
    const std::lock_guard lock(mutex_);
    const auto sent = engine.now();
    const auto on = connect()->send(std::move(request));
    if (on != 0) {
      const auto timer = engine.at(sent + wire_.patience(), [weak = weak_from_this(), sent] {
        if (auto self = weak.lock()) self->overdue(sent);
      });
      waiting_[lease].push_back({sent, std::move(done), timer, on});
      return;
    }
  }
  done(failure{errc::unavailable, "the client is gone"});
}

void heartbeat::heard(line::number on, const etcdserverpb::LeaseKeepAliveResponse& reply) {
  // Deposed, and it has not noticed. Old servers renew leases all the same, which the new leader lets end.
  if (reply.header().raft_term() < wire_.raft_term()) return distrust(on);
  asked first;
  {
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(reply.id());
    // What was asked on another stream is not answered by this one: its time would be counted from the wrong question.
    if (found == waiting_.end() || found->second.front().on != on) return;
    first = std::move(found->second.front());
    found->second.pop_front();
    if (found->second.empty()) waiting_.erase(found);
  }
  wire_.engine().cancel(first.timer);
  if (reply.ttl() <= 0) return first.done(outcome());
  first.done(outcome(term{first.sent + std::chrono::seconds(reply.ttl()), reply.header().raft_term()}));
}

void heartbeat::broken(line::number which, const grpc::Status& status) {
  std::vector<asked> all;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      auto& questions = at->second;
      for (; !questions.empty() && questions.front().on <= which; questions.pop_front())
        all.push_back(std::move(questions.front()));
      at = questions.empty() ? waiting_.erase(at) : std::next(at);
    }
  }
  if (wants_new_token(status)) wire_.engine().post([&w = wire_] { w.log_in_again(); });
  for (auto& question : all) {
    wire_.engine().cancel(question.timer);
    question.done(failure_of(status, wire_.shown()));
  }
}

void heartbeat::overdue(spi::time_point asked_at) {
  line::number on = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [lease, questions] : waiting_)
      if (questions.front().sent <= asked_at) on = std::max(on, questions.front().on);
  }
  if (on != 0) distrust(on);
}

/// The stream is ended, which answers all that wait on it.
void heartbeat::distrust(line::number on) {
  present()->cut(on);
  silent_();
}

std::shared_ptr<heartbeat::line> heartbeat::present() {
  const std::lock_guard lock(mutex_);
  return line_;
}

void heartbeat::cut_member(std::size_t index) {
  if (const auto through = present()) through->cut_member(index);
}

void heartbeat::close() {
  if (const auto through = present()) through->close();
  // What waits for an answer holds those who hold us.
  std::map<std::int64_t, std::deque<asked>> all;
  const std::lock_guard lock(mutex_);
  all.swap(waiting_);
}

}  // namespace holdfast::etcd
