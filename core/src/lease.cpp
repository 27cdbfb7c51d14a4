#include <holdfast/lease.hpp>

#include <holdfast/detail/hold.hpp>

#include <algorithm>

namespace holdfast {

namespace {

failure moved_from() { return {errc::not_owner, "this lease was moved from"}; }

std::stop_token stopped() {
  std::stop_source source;
  source.request_stop();
  return source.get_token();
}

}  // namespace

const char* to_string(loss cause) noexcept {
  switch (cause) {
    case loss::none:
      return "not lost";
    case loss::expired:
      return "its ttl passed";
    case loss::taken:
      return "it was taken away";
    case loss::session_ended:
      return "the session with the store ended";
    case loss::unreachable:
      return "the store could not be reached until its ttl passed";
  }
  return "unknown";
}

lease::lease(std::shared_ptr<detail::hold> hold) noexcept : hold_(std::move(hold)) {}
lease::lease(lease&&) noexcept = default;

lease& lease::operator=(lease&& other) noexcept {
  if (this == &other) return *this;
  if (hold_) hold_->drop();
  hold_ = std::move(other.hold_);
  return *this;
}

lease::~lease() {
  if (hold_) hold_->drop();
}

const std::string& lease::name() const noexcept {
  static const std::string none;
  return hold_ ? hold_->name() : none;
}
std::string lease::id() const { return hold_ ? hold_->id() : std::string(); }
fencing_token lease::token() const noexcept { return hold_ ? hold_->token() : fencing_token(); }
bool lease::valid() const noexcept { return hold_ && hold_->valid(); }

std::chrono::nanoseconds lease::remaining() const noexcept {
  if (!valid()) return std::chrono::nanoseconds::zero();
  return std::max(hold_->valid_until() - hold_->now(), std::chrono::nanoseconds::zero());
}
std::chrono::steady_clock::time_point lease::valid_until() const noexcept {
  return std::chrono::steady_clock::now() + remaining();
}

std::stop_token lease::lost() const noexcept { return hold_ ? hold_->lost() : stopped(); }
loss lease::loss_cause() const noexcept { return hold_ ? hold_->loss_cause() : loss::none; }

result<void> lease::renew() { return hold_ ? hold_->renew() : moved_from(); }
result<void> lease::release() { return hold_ ? hold_->release() : moved_from(); }
result<void> lease::downgrade() { return hold_ ? hold_->downgrade() : moved_from(); }

bool lease::try_upgrade() {
  auto done = hold_ ? hold_->try_upgrade() : result<bool>(moved_from());
  if (!done) throw error(std::move(done.error()), "try_upgrade", name());
  return *done;
}

}  // namespace holdfast
