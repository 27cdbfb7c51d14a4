#pragma once

#include "etcd_error.hpp"
#include "members.hpp"
#include "process_guard.hpp"

#include <holdfast/backend.hpp>

#include <grpcpp/alarm.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

namespace holdfast::etcd {

/// Something under way at gRPC, told on the library's thread when it is done.
class tag {
 public:
  virtual ~tag() = default;
  virtual void proceed(bool good) = 0;

  /// Just before it is given to gRPC, and first thing when it comes back: what the one thread wrote the other sees.
  /// gRPC sees to that too, but where ThreadSanitizer cannot see it.
  void hand_in() noexcept { handed_in_ = true; }
  bool take_back() const noexcept { return handed_in_; }

 private:
  std::atomic<bool> handed_in_{false};
};

/// One service's method as the generated stubs have it: for a caller that waits, and for one that does not.
template <class Stub, class Request, class Reply>
struct method {
  const std::unique_ptr<Stub> member::* stub;
  grpc::Status (Stub::*call)(grpc::ClientContext*, const Request&, Reply*);
  std::unique_ptr<grpc::ClientAsyncResponseReader<Reply>> (Stub::*start)(grpc::ClientContext*, const Request&,
                                                                         grpc::CompletionQueue*);
};

/// The calls of one client: to which member, until when, as which user; and the thread on which those end that nobody
/// waits for.
///
/// Thread safety: safe.
class wire : private process_guard::loop {
 public:
  wire(const settings& where, spi::runtime& engine);
  wire(const wire&) = delete;
  wire& operator=(const wire&) = delete;
  ~wire() override;  ///< What is under way is cut off first; see close().

  /// Ends the thread, after the last answer has come. Requires: streams are cancelled.
  void close();

  members& cluster() noexcept { return members_; }
  grpc::CompletionQueue& queue() noexcept { return queue_; }
  spi::runtime& engine() noexcept { return engine_; }
  std::string shown() const { return where_.shown(); }
  bool plain() const noexcept { return !where_.tls; }
  bool has_user() const noexcept { return !where_.user.empty(); }
  /// The latest term of a leader in which a majority has answered. What a member answers by itself in an earlier one is
  /// worth nothing: its leader was deposed, and has not noticed.
  std::uint64_t raft_term() const noexcept { return raft_term_; }
  /// `tell`: a question was not answered, and the next ones go to another member. Set once, before the first question.
  void when_member_fails(std::function<void(std::size_t index)> tell) { member_failed_ = std::move(tell); }
  /// How long one question to one member may take: with others to ask, there must be time left for them.
  std::chrono::nanoseconds patience() const;

  /// What every call carries: the login, if there is one; which.
  std::uint64_t introduce(grpc::ClientContext& context) const;
  /// How often we logged in.
  std::uint64_t logins() const;
  /// Logs in if there is a user. Blocks.
  result<void> log_in(std::chrono::nanoseconds limit);
  /// The login of a stream was refused: the next one has a new one. Blocks.
  void log_in_again() { static_cast<void>(log_in(patience())); }

  /// errc::lost: the lease that was named is gone.
  template <class Stub, class Request, class Reply>
  void ask(const method<Stub, Request, Reply>& what, Request request, spi::caller from,
           std::type_identity_t<spi::completion<Reply>> done) {
    // gRPC's own objects may be gone already.
    if (process_guard::ending()) return done(failure{errc::unavailable, "the process ends"});
    if (from == spi::caller::must_not_block)
      (new pending<Stub, Request, Reply>(*this, what, std::move(request), std::move(done)))->start();
    else
      ask_here(what, request, std::move(done));
  }
  /// The same of one member, on this thread, once.
  template <class Stub, class Request, class Reply>
  result<Reply> ask_member(std::size_t index, const method<Stub, Request, Reply>& what, const Request& request,
                           std::chrono::nanoseconds limit) {
    Reply reply;
    const grpc::Status status = call(index, what, request, reply, limit);
    if (status.ok()) return reply;
    return failure_of(status, members_.at(index).address);
  }

 private:
  enum class attempt : std::uint8_t { first, last };

  template <class Stub, class Request, class Reply>
  class pending;

  void serve();
  void step_out() override;

  void prepare(grpc::ClientContext& context, std::chrono::nanoseconds limit) const;
  /// Turns a status into a failure, and remembers a member that did not answer.
  failure explain(const grpc::Status& status, std::size_t asked);
  bool may_log_in_again(const grpc::Status& status) const;

  template <class Reply>
  void note_term(const Reply& reply) {
    // Only what needs a majority: a member that is cut off may count terms that nobody else knows.
    if constexpr (std::is_same_v<Reply, etcdserverpb::TxnResponse> ||
                  std::is_same_v<Reply, etcdserverpb::RangeResponse> ||
                  std::is_same_v<Reply, etcdserverpb::LeaseGrantResponse>) {
      auto seen = raft_term_.load();
      while (seen < reply.header().raft_term() && !raft_term_.compare_exchange_weak(seen, reply.header().raft_term())) {
      }
    }
  }

  template <class Stub, class Request, class Reply>
  grpc::Status call(std::size_t index, const method<Stub, Request, Reply>& what, const Request& request, Reply& reply,
                    std::chrono::nanoseconds limit) {
    const process_guard::inside here;
    if (process_guard::ending()) return {grpc::StatusCode::CANCELLED, "the process ends"};
    grpc::ClientContext context;
    prepare(context, limit);
    introduce(context);
    Stub& stub = *(members_.at(index).*what.stub);
    return (stub.*what.call)(&context, request, &reply);
  }

  template <class Stub, class Request, class Reply>
  void ask_here(const method<Stub, Request, Reply>& what, const Request& request, spi::completion<Reply> done) {
    Reply reply;
    std::size_t asked = members_.current();
    grpc::Status status = call(asked, what, request, reply, patience());
    if (may_log_in_again(status)) {
      // Without an answer to that, nothing is known of the question either: what was refused was the old login.
      if (auto logged_in = log_in(patience()); !logged_in) return done(logged_in.error());
      asked = members_.current();
      reply.Clear();
      status = call(asked, what, request, reply, patience());
    }
    if (!status.ok()) return done(explain(status, asked));
    note_term(reply);
    done(std::move(reply));
  }

  /// The last one out waits until gRPC has cleaned up: it would do so on a thread of its own, beside whatever the
  /// program does next, its exit for example.
  struct library {
    library();
    library(const library&) = delete;
    library& operator=(const library&) = delete;
    ~library();
  };

  const library grpc_;
  const settings where_;
  spi::runtime& engine_;
  members members_;
  std::atomic<std::uint64_t> raft_term_{0};
  std::function<void(std::size_t)> member_failed_;
  grpc::CompletionQueue queue_;
  std::shared_mutex open_mutex_;  // nothing may begin on a queue that was shut down
  bool closed_ = false;
  mutable std::mutex login_mutex_;
  std::string login_;  // the token of etcd's simple or JWT authentication
  std::uint64_t logins_ = 0;

  // At the end of the process.
  struct knock final : tag {
    void proceed(bool /*good*/) override {}
  };
  std::mutex exit_mutex_;
  std::condition_variable stepped_out_;
  bool asked_out_ = false;
  bool outside_ = false;
  knock knock_;
  grpc::Alarm alarm_;

  std::thread thread_;
};

template <class Stub, class Request, class Reply>
class wire::pending final : public tag {
 public:
  pending(wire& through, const method<Stub, Request, Reply>& what, Request request, spi::completion<Reply> done)
      : wire_(through), what_(what), request_(std::move(request)), done_(std::move(done)) {}

  void start() {
    asked_ = wire_.members_.current();
    context_ = std::make_unique<grpc::ClientContext>();
    wire_.prepare(*context_, wire_.patience());
    wire_.introduce(*context_);
    Stub& stub = *(wire_.members_.at(asked_).*what_.stub);
    {
      const std::shared_lock open(wire_.open_mutex_);
      if (!wire_.closed_) {
        reader_ = (stub.*what_.start)(context_.get(), request_, &wire_.queue_);
        hand_in();
        reader_->Finish(&reply_, &status_, this);
        return;
      }
    }
    const std::unique_ptr<pending> last(this);
    done_(failure{errc::unavailable, "the client is gone"});
  }

  void proceed(bool /*good*/) override {
    if (attempt_ == attempt::first && wire_.may_log_in_again(status_)) {
      attempt_ = attempt::last;
      // It takes an exchange, for which the thread that hears all others has no time.
      return wire_.engine_.post([self = std::unique_ptr<pending>(this)]() mutable {
        if (auto logged_in = self->wire_.log_in(self->wire_.patience()); !logged_in)
          return self->done_(logged_in.error());
        self->reply_.Clear();
        self.release()->start();
      });
    }
    const std::unique_ptr<pending> last(this);
    if (!status_.ok()) return done_(wire_.explain(status_, asked_));
    wire_.note_term(reply_);
    done_(std::move(reply_));
  }

 private:
  wire& wire_;
  const method<Stub, Request, Reply> what_;
  const Request request_;
  spi::completion<Reply> done_;
  attempt attempt_ = attempt::first;
  std::size_t asked_ = 0;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<Reply>> reader_;
  Reply reply_;
  grpc::Status status_;
};

/// The methods we use.
namespace methods {

namespace pb = etcdserverpb;

inline constexpr method<pb::KV::Stub, pb::RangeRequest, pb::RangeResponse> range{&member::kv, &pb::KV::Stub::Range,
                                                                                 &pb::KV::Stub::AsyncRange};
inline constexpr method<pb::KV::Stub, pb::TxnRequest, pb::TxnResponse> txn{&member::kv, &pb::KV::Stub::Txn,
                                                                           &pb::KV::Stub::AsyncTxn};
inline constexpr method<pb::Lease::Stub, pb::LeaseGrantRequest, pb::LeaseGrantResponse> grant{
    &member::lease, &pb::Lease::Stub::LeaseGrant, &pb::Lease::Stub::AsyncLeaseGrant};
inline constexpr method<pb::Lease::Stub, pb::LeaseRevokeRequest, pb::LeaseRevokeResponse> revoke{
    &member::lease, &pb::Lease::Stub::LeaseRevoke, &pb::Lease::Stub::AsyncLeaseRevoke};
inline constexpr method<pb::Lease::Stub, pb::LeaseTimeToLiveRequest, pb::LeaseTimeToLiveResponse> time_to_live{
    &member::lease, &pb::Lease::Stub::LeaseTimeToLive, &pb::Lease::Stub::AsyncLeaseTimeToLive};
inline constexpr method<pb::Cluster::Stub, pb::MemberListRequest, pb::MemberListResponse> member_list{
    &member::cluster, &pb::Cluster::Stub::MemberList, &pb::Cluster::Stub::AsyncMemberList};
inline constexpr method<pb::Maintenance::Stub, pb::StatusRequest, pb::StatusResponse> status{
    &member::maintenance, &pb::Maintenance::Stub::Status, &pb::Maintenance::Stub::AsyncStatus};
inline constexpr method<pb::Maintenance::Stub, pb::AlarmRequest, pb::AlarmResponse> alarm{
    &member::maintenance, &pb::Maintenance::Stub::Alarm, &pb::Maintenance::Stub::AsyncAlarm};

}  // namespace methods

}  // namespace holdfast::etcd
