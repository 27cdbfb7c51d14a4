#include <holdfast/counting_semaphore.hpp>

#include "counting.hpp"
#include "face.hpp"

#include <limits>

namespace holdfast {

namespace {

using op = spi::count_request::op;
constexpr auto semaphore = spi::kind::semaphore;

spi::claim claim_for(const std::string& name, std::ptrdiff_t n) {
  detail::require_not_negative(n, "acquire", name);
  if (n > std::numeric_limits<std::uint32_t>::max())
    throw error({errc::invalid_argument, std::to_string(n) + " permits are more than any semaphore has"}, "acquire",
                name);
  return detail::counter_claim(name, semaphore, n);
}

}  // namespace

counting_semaphore::counting_semaphore(client c, std::string name) : client_(std::move(c)), name_(std::move(name)) {
  detail::require(client_, name_, client_.engine()->supports().semaphore, "counting_semaphore");
}

bool counting_semaphore::try_set_permits(std::ptrdiff_t n) {
  detail::require_not_negative(n, "try_set_permits", name_);
  return detail::count(client_, name_, semaphore, op::set_if_unset, n, "try_set_permits").done;
}
void counting_semaphore::add_permits(std::ptrdiff_t n) {
  detail::count(client_, name_, semaphore, op::add, n, "add_permits");
}

void counting_semaphore::acquire(std::ptrdiff_t n, std::stop_token stop) {
  detail::pass(*client_.engine(), claim_for(name_, n), {}, std::move(stop), "acquire");
}
bool counting_semaphore::try_acquire(std::ptrdiff_t n) {
  return try_acquire_within(std::chrono::nanoseconds::zero(), n);
}
bool counting_semaphore::try_acquire_within(optional_duration wait, std::ptrdiff_t n, std::stop_token stop) {
  return detail::pass(*client_.engine(), claim_for(name_, n), wait, std::move(stop), "try_acquire");
}
operation<void> counting_semaphore::async_acquire(acquire_options options, std::stop_token stop, std::ptrdiff_t n) {
  return detail::async_pass(*client_.engine(), claim_for(name_, n), options, std::move(stop));
}

void counting_semaphore::release(std::ptrdiff_t n) {
  detail::require_not_negative(n, "release", name_);
  detail::count(client_, name_, semaphore, op::add, n, "release");
}
std::ptrdiff_t counting_semaphore::available() const {
  return detail::count(client_, name_, semaphore, op::get, 0, "available").value;
}
std::ptrdiff_t counting_semaphore::drain() {
  return detail::count(client_, name_, semaphore, op::drain, 0, "drain").value;
}

}  // namespace holdfast
