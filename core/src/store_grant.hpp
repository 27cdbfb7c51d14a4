#pragma once

#include "guarded.hpp"
#include "terms.hpp"

#include <holdfast/backend.hpp>

#include <algorithm>
#include <atomic>
#include <memory>

namespace holdfast::detail {

class grant_hold;

/// One grant of the store. Local handover passes it from hold to hold; the renewer keeps it alive meanwhile.
///
/// Thread safety: safe, but for next_look, which is the renewer's under its lock.
class store_grant {
 public:
  enum class life { renewed, fixed };

  store_grant(spi::claim claim, const spi::granted& grant, life l, lease_clock::time_point now)
      : claim_(std::move(claim)),
        life_(l),
        granted_at_(now),
        session_ends_(grant.session_ends),
        next_token_(grant.first_token.value()),
        tokens_(grant.tokens) {
    extend(grant.expires, now);
  }

  spi::claim claim() const {
    auto copy = claim_;
    copy.access = access_changed_.load() ? other(claim_.access) : claim_.access;
    return copy;
  }
  const std::string& name() const noexcept { return claim_.name; }
  const spi::owner_id& id() const noexcept { return claim_.id; }
  std::chrono::nanoseconds ttl() const noexcept { return claim_.ttl; }
  spi::kind kind() const noexcept { return claim_.kind; }
  ordering order() const noexcept { return claim_.order; }
  life lives() const noexcept { return life_; }
  lease_clock::time_point granted_at() const noexcept { return granted_at_; }

  lease_clock::time_point valid_until() const noexcept { return lease_clock::time_point(valid_until_.load()); }
  /// By its own time, or by that of the session it lives in.
  bool over(lease_clock::time_point now) const noexcept {
    return now >= valid_until() || (session_ends_ && now.time_since_epoch() >= session_ends_->load());
  }
  void extend(lease_clock::time_point expires, lease_clock::time_point now) noexcept {
    unanswered = 0;
    valid_until_ = validity(expires, now, claim_.ttl).time_since_epoch();
  }
  void convert(spi::access to) noexcept { access_changed_ = to != claim_.access; }

  /// Where validity ends for a term that ends at `expires`, as seen at `now`: the margin is that of the term, which may
  /// be shorter than the ttl. An end as far in the past as can be stays there.
  static lease_clock::time_point validity(lease_clock::time_point expires, lease_clock::time_point now,
                                          std::chrono::nanoseconds ttl) noexcept {
    // Compared before it is subtracted: a difference that wraps around would make it valid for ever.
    const auto left = expires <= now ? 0ns : std::min<std::chrono::nanoseconds>(expires - now, ttl);
    const auto margin = drift_margin(left);
    return expires < lease_clock::time_point::min() + margin ? lease_clock::time_point::min() : expires - margin;
  }

  /// The tokens drawn in advance must not be used: a greater one was given out. It is not passed on any more.
  void forget_tokens() noexcept { tokens_ = 0; }
  /// The next token of the block, for the next holder. Requires: tokens_left().
  fencing_token draw() noexcept { return --tokens_, fencing_token(next_token_++); }
  bool tokens_left() const noexcept { return tokens_ > 0; }

  /// Whose it is now. Once ended it can be neither passed on nor lost again.
  struct tenancy {
    std::weak_ptr<grant_hold> holder;
    loss ended = loss::none;
  };
  guarded<tenancy> tenant;

  /// Renewals sent since the last answer: if the ttl ends with any, the store was out of reach.
  std::atomic<unsigned> unanswered{0};

  lease_clock::time_point next_look;

 private:
  static spi::access other(spi::access a) noexcept {
    return a == spi::access::shared ? spi::access::exclusive : spi::access::shared;
  }

  const spi::claim claim_;
  const life life_;
  const lease_clock::time_point granted_at_;
  const std::shared_ptr<const std::atomic<lease_clock::duration>> session_ends_;
  std::atomic<lease_clock::duration> valid_until_{};
  std::atomic<bool> access_changed_{false};
  // Only the present holder draws, when it passes the grant on.
  std::uint64_t next_token_;
  std::atomic<std::uint32_t> tokens_;
};

}  // namespace holdfast::detail
