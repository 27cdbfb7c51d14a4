#pragma once

#include "wire.hpp"

#include <condition_variable>
#include <deque>
#include <functional>

namespace holdfast::etcd {

/// A stream of requests and replies with one member, opened when there is something to send, and again after it broke.
///
/// Each has a number, so that an answer or an end is taken for what was sent on that stream and on no other: while the
/// end of one is told, somebody may have sent on the next.
///
/// Callbacks come on the library's thread, one at a time, and may call back.
/// Thread safety: safe.
template <class Request, class Reply>
class duplex : public std::enable_shared_from_this<duplex<Request, Reply>> {
 public:
  using stream = grpc::ClientAsyncReaderWriter<Request, Reply>;
  using opener = std::function<std::unique_ptr<stream>(const member&, grpc::ClientContext*, grpc::CompletionQueue*)>;
  using number = std::uint64_t;
  struct callbacks {
    std::function<void(number on, const Reply&)> heard;
    /// What was sent on it and not answered will not be. The next send opens another.
    std::function<void(number which, const grpc::Status&)> broken;
  };

  duplex(wire& through, opener open, callbacks tell) : wire_(through), open_(std::move(open)), tell_(std::move(tell)) {}

  /// Sends in order, on the stream there is or a new one: on which. After close(), or when the process ends, it does
  /// nothing; 0.
  number send(Request what) {
    std::unique_lock lock(mutex_);
    if (closed_ || process_guard::ending()) return 0;
    if (!run_) {
      run_ = std::make_shared<run>(this->shared_from_this(), ++runs_);
      run_->out.push_back(std::move(what));
      const auto fresh = run_;
      lock.unlock();
      fresh->start();
      return fresh->which;
    }
    run_->out.push_back(std::move(what));
    write(lock, run_);
    return run_->which;
  }

  /// Ends the stream there is, as if it broke by itself; the member is held to be out of order.
  void cut() {
    const std::lock_guard lock(mutex_);
    if (run_) cut_off(*run_);
  }
  /// The same, if it is still that one.
  void cut(number which) {
    const std::lock_guard lock(mutex_);
    if (run_ && run_->which == which) cut_off(*run_);
  }
  /// The same, if it is with that member.
  void cut_member(std::size_t index) {
    const std::lock_guard lock(mutex_);
    if (run_ && run_->asked == index) cut_off(*run_);
  }
  /// Ends it if it was opened with another login than there is now: the server goes by the one it was opened with.
  /// False: it was not.
  bool drop_old_login() {
    const std::lock_guard lock(mutex_);
    if (!run_ || run_->login == wire_.logins() || process_guard::ending()) return false;
    run_->context.TryCancel();
    return true;
  }

  /// Ends it for good and waits until nothing of it is under way. Not from a callback.
  void close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    if (run_) run_->context.TryCancel();
    idle_.wait(lock, [&] { return !run_; });
  }

 private:
  /// One stream from its opening to its end.
  struct run : std::enable_shared_from_this<run> {
    run(std::shared_ptr<duplex> of, number n)
        : owner(std::move(of)), which(n), asked(owner->wire_.cluster().current()) {}

    struct step final : tag {
      step(std::shared_ptr<run> r, void (run::*n)(bool)) : of(std::move(r)), next(n) {}
      void proceed(bool good) override {
        const std::unique_ptr<step> last(this);
        ((*of).*next)(good);
      }
      std::shared_ptr<run> of;
      void (run::*next)(bool);
    };
    step* then(void (run::*next)(bool)) {
      auto* const made = new step(this->shared_from_this(), next);
      made->hand_in();
      return made;
    }

    void start() {
      login = owner->wire_.introduce(context);
      // A member that lost its leader then ends the stream instead of being silent.
      context.AddMetadata("hasleader", "true");
      line = owner->open_(owner->wire_.cluster().at(asked), &context, &owner->wire_.queue());
      line->StartCall(then(&run::on_started));
    }
    void on_started(bool good) {
      std::unique_lock lock(owner->mutex_);
      started = true;
      if (!good) {
        over = true;
        return finish(lock);
      }
      line->Read(&in, then(&run::on_read));
      owner->write(lock, this->shared_from_this());
    }
    void on_read(bool good) {
      if (good) {
        owner->tell_.heard(which, in);
        in.Clear();
        line->Read(&in, then(&run::on_read));
        return;
      }
      std::unique_lock lock(owner->mutex_);
      over = true;
      finish(lock);
    }
    void on_written(bool good) {
      std::unique_lock lock(owner->mutex_);
      writing = false;
      if (over) return finish(lock);
      // If it failed, the read will fail too and end it.
      if (good) owner->write(lock, this->shared_from_this());
    }
    void finish(std::unique_lock<std::mutex>& /*held*/) {
      if (!writing) line->Finish(&status, then(&run::on_finished));
    }
    void on_finished(bool /*good*/) {
      if (wants_other_member(status)) owner->wire_.cluster().failed(asked);
      const auto self = owner;
      {
        const std::lock_guard lock(self->mutex_);
        self->run_.reset();
        self->idle_.notify_all();
        if (self->closed_) return;
      }
      self->tell_.broken(which, status);
    }

    const std::shared_ptr<duplex> owner;
    const number which;
    const std::size_t asked;
    std::atomic<std::uint64_t> login{0};
    grpc::ClientContext context;
    std::unique_ptr<stream> line;
    std::deque<Request> out;
    bool started = false;
    bool writing = false;
    bool over = false;
    Reply in;
    grpc::Status status;
  };

  /// Requires: the lock. One write at a time is gRPC's rule.
  void write(std::unique_lock<std::mutex>& /*held*/, const std::shared_ptr<run>& r) {
    if (!r->started || r->writing || r->over || r->out.empty()) return;
    const Request next = std::move(r->out.front());
    r->out.pop_front();
    r->writing = true;
    r->line->Write(next, r->then(&run::on_written));
  }

  void cut_off(run& r) {
    if (process_guard::ending()) return;
    wire_.cluster().failed(r.asked);
    r.context.TryCancel();
  }

  wire& wire_;
  const opener open_;
  const callbacks tell_;
  std::mutex mutex_;
  std::condition_variable idle_;
  std::shared_ptr<run> run_;
  number runs_ = 0;
  bool closed_ = false;
};

}  // namespace holdfast::etcd
