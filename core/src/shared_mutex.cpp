#include <holdfast/shared_mutex.hpp>

#include "claims.hpp"
#include "face.hpp"

namespace holdfast {

namespace {

spi::claim claim_for(const std::string& name, const lock_options& options, spi::access access) {
  auto claim = detail::mutex_claim(name, options);
  claim.kind = spi::kind::shared_mutex;
  claim.access = access;
  return claim;
}

}  // namespace

shared_mutex::shared_mutex(client c, std::string name, lock_options options)
    : client_(std::move(c)), name_(std::move(name)), options_(options) {
  detail::require(client_, name_, client_.engine()->supports().shared_mutex, "shared_mutex");
  detail::require_order(client_, name_, options_);
}

void shared_mutex::lock() { exclusive_.put(acquire()); }
bool shared_mutex::try_lock() { return try_lock_within(std::chrono::nanoseconds::zero()); }
bool shared_mutex::try_lock_within(optional_duration wait) {
  auto got = try_acquire({.wait = wait});
  if (got) exclusive_.put(std::move(*got));
  return got.has_value();
}
void shared_mutex::unlock() noexcept { detail::unlock(exclusive_, client_, name_); }

void shared_mutex::lock_shared() { shared_.put(acquire_shared()); }
bool shared_mutex::try_lock_shared() { return try_lock_shared_within(std::chrono::nanoseconds::zero()); }
bool shared_mutex::try_lock_shared_within(optional_duration wait) {
  auto got = try_acquire_shared({.wait = wait});
  if (got) shared_.put(std::move(*got));
  return got.has_value();
}
void shared_mutex::unlock_shared() noexcept { detail::unlock(shared_, client_, name_); }

lease shared_mutex::acquire(acquire_options options, std::stop_token stop) {
  return detail::acquire(*client_.engine(), claim_for(name_, options_, spi::access::exclusive), options,
                         std::move(stop));
}
std::optional<lease> shared_mutex::try_acquire(acquire_options options, std::stop_token stop) {
  return detail::try_acquire(*client_.engine(), claim_for(name_, options_, spi::access::exclusive), options,
                             std::move(stop));
}
operation<lease> shared_mutex::async_acquire(acquire_options options, std::stop_token stop) {
  return detail::async_acquire(*client_.engine(), claim_for(name_, options_, spi::access::exclusive), options,
                               std::move(stop));
}

lease shared_mutex::acquire_shared(acquire_options options, std::stop_token stop) {
  return detail::acquire(*client_.engine(), claim_for(name_, options_, spi::access::shared), options, std::move(stop));
}
std::optional<lease> shared_mutex::try_acquire_shared(acquire_options options, std::stop_token stop) {
  return detail::try_acquire(*client_.engine(), claim_for(name_, options_, spi::access::shared), options,
                             std::move(stop));
}
operation<lease> shared_mutex::async_acquire_shared(acquire_options options, std::stop_token stop) {
  return detail::async_acquire(*client_.engine(), claim_for(name_, options_, spi::access::shared), options,
                               std::move(stop));
}

}  // namespace holdfast
