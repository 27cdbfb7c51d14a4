#include <holdfast/permit_semaphore.hpp>

#include "claims.hpp"
#include "face.hpp"

namespace holdfast {

namespace {

spi::claim claim_for(const permit_semaphore& s, const lock_options& options, std::uint32_t permits) {
  if (permits == 0 || permits > s.limit()) {
    throw error({errc::invalid_argument, "permits: " + std::to_string(permits) + " of " + std::to_string(s.limit()) +
                                             "; 1 to " + std::to_string(s.limit()) + " can be had at once"},
                "acquire", s.name());
  }
  auto claim = detail::mutex_claim(s.name(), options);
  claim.kind = spi::kind::permits;
  claim.permits = permits;
  claim.limit = s.limit();
  return claim;
}

}  // namespace

permit_semaphore::permit_semaphore(client c, std::string name, std::uint32_t n, lock_options options)
    : client_(std::move(c)), name_(std::move(name)), limit_(n), options_(options) {
  detail::require(client_, name_, client_.engine()->supports().permits, "permit_semaphore");
  detail::require_order(client_, name_, options_);
  if (n == 0) throw error({errc::invalid_argument, "a semaphore of no permits"}, "permit_semaphore", name_);
}

lease permit_semaphore::acquire(acquire_options options, std::stop_token stop, std::uint32_t permits) {
  return detail::acquire(*client_.engine(), claim_for(*this, options_, permits), options, std::move(stop));
}
std::optional<lease> permit_semaphore::try_acquire(acquire_options options, std::stop_token stop,
                                                   std::uint32_t permits) {
  return detail::try_acquire(*client_.engine(), claim_for(*this, options_, permits), options, std::move(stop));
}
operation<lease> permit_semaphore::async_acquire(acquire_options options, std::stop_token stop, std::uint32_t permits) {
  return detail::async_acquire(*client_.engine(), claim_for(*this, options_, permits), options, std::move(stop));
}

}  // namespace holdfast
