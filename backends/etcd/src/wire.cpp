#include "wire.hpp"

#include <grpc/grpc.h>

#include <algorithm>

namespace holdfast::etcd {

using namespace std::chrono_literals;

wire::library::library() { grpc_init(); }

wire::library::~library() {
  const process_guard::inside here;
  grpc_shutdown_blocking();
}

wire::wire(const settings& where, spi::runtime& engine) : where_(where), engine_(engine), members_(where) {
  thread_ = std::thread([this] {
    spi::adopt_this_thread();
    serve();
  });
  process_guard::add(this);
}

void wire::serve() {
  void* done = nullptr;
  bool good = false;
  while (queue_.Next(&done, &good)) {
    auto* const back = static_cast<tag*>(done);
    if (back->take_back()) back->proceed(good);
    std::unique_lock lock(exit_mutex_);
    if (!asked_out_) continue;
    outside_ = true;
    stepped_out_.notify_all();
    stepped_out_.wait(lock, [] { return false; });  // the process ends
  }
}

void wire::step_out() {
  std::unique_lock lock(exit_mutex_);
  asked_out_ = true;
  knock_.hand_in();
  alarm_.Set(&queue_, std::chrono::system_clock::now(), &knock_);
  stepped_out_.wait_for(lock, 1s, [&] { return outside_; });
}

wire::~wire() { close(); }

void wire::close() {
  if (!thread_.joinable()) return;
  process_guard::remove(this);
  {
    const std::lock_guard lock(open_mutex_);
    closed_ = true;
  }
  queue_.Shutdown();
  thread_.join();
}

std::chrono::nanoseconds wire::patience() const {
  const auto whole = engine_.options().request_timeout;
  if (members_.size() == 1) return whole;
  return std::max<std::chrono::nanoseconds>(whole / static_cast<long>(members_.size() + 1), 10ms);
}

std::uint64_t wire::introduce(grpc::ClientContext& context) const {
  if (where_.user.empty()) return 0;
  const std::lock_guard lock(login_mutex_);
  if (!login_.empty()) context.AddMetadata("token", login_);
  return logins_;
}

std::uint64_t wire::logins() const {
  const std::lock_guard lock(login_mutex_);
  return logins_;
}

void wire::prepare(grpc::ClientContext& context, std::chrono::nanoseconds limit) const {
  // gRPC turns it into its monotonic time at once: a jump of the clock does not matter later. Far away is for ever.
  const auto bounded = std::min<std::chrono::nanoseconds>(limit, 24h);
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::duration_cast<std::chrono::system_clock::duration>(bounded));
}

bool wire::may_log_in_again(const grpc::Status& status) const {
  return !where_.user.empty() && wants_new_token(status);
}

result<void> wire::log_in(std::chrono::nanoseconds limit) {
  if (where_.user.empty()) return {};
  etcdserverpb::AuthenticateRequest request;
  request.set_name(where_.user);
  request.set_password(where_.password);
  etcdserverpb::AuthenticateResponse reply;
  const process_guard::inside here;
  if (process_guard::ending()) return failure{errc::unavailable, "the process ends"};
  grpc::ClientContext context;
  prepare(context, limit);
  const auto asked = members_.current();
  const grpc::Status status = members_.at(asked).auth->Authenticate(&context, request, &reply);
  if (!status.ok() && !knows_no_users(status)) return explain(status, asked);
  const std::lock_guard lock(login_mutex_);
  login_ = reply.token();
  ++logins_;
  return {};
}

failure wire::explain(const grpc::Status& status, std::size_t asked) {
  const bool moved = wants_other_member(status) && members_.failed(asked);
  if (moved && members_.size() > 1 && member_failed_) member_failed_(asked);
  return failure_of(status, members_.at(asked).address);
}

}  // namespace holdfast::etcd
