#include <holdfast/mutex.hpp>

#include "claims.hpp"
#include "face.hpp"

namespace holdfast {

mutex::mutex(client c, std::string name, lock_options options)
    : client_(std::move(c)), name_(std::move(name)), options_(options) {
  detail::require(client_, name_, client_.engine()->supports().mutex, "mutex");
  detail::require_order(client_, name_, options_);
}

void mutex::lock() { held_.put(acquire()); }
bool mutex::try_lock() { return try_lock_within(std::chrono::nanoseconds::zero()); }

bool mutex::try_lock_within(optional_duration wait) {
  auto got = try_acquire({.wait = wait});
  if (got) held_.put(std::move(*got));
  return got.has_value();
}

void mutex::unlock() noexcept { detail::unlock(held_, client_, name_); }

lease mutex::acquire(acquire_options options, std::stop_token stop) {
  return detail::acquire(*client_.engine(), detail::mutex_claim(name_, options_), options, std::move(stop));
}
std::optional<lease> mutex::try_acquire(acquire_options options, std::stop_token stop) {
  return detail::try_acquire(*client_.engine(), detail::mutex_claim(name_, options_), options, std::move(stop));
}
operation<lease> mutex::async_acquire(acquire_options options, std::stop_token stop) {
  return detail::async_acquire(*client_.engine(), detail::mutex_claim(name_, options_), options, std::move(stop));
}

}  // namespace holdfast
