#include <holdfast/latch.hpp>

#include "counting.hpp"
#include "face.hpp"

namespace holdfast {

namespace {

using op = spi::count_request::op;
constexpr auto kind = spi::kind::latch;

}  // namespace

latch::latch(client c, std::string name) : client_(std::move(c)), name_(std::move(name)) {
  detail::require(client_, name_, client_.engine()->supports().latch, "latch");
}

bool latch::try_set_count(std::ptrdiff_t n) {
  detail::require_not_negative(n, "try_set_count", name_);
  return detail::count(client_, name_, kind, op::set_if_unset, n, "try_set_count").done;
}
void latch::count_down(std::ptrdiff_t n) {
  detail::require_not_negative(n, "count_down", name_);
  detail::count(client_, name_, kind, op::subtract, n, "count_down");
}
std::ptrdiff_t latch::count() const { return detail::count(client_, name_, kind, op::get, 0, "count").value; }

bool latch::try_wait() const { return count() == 0; }
void latch::wait(std::stop_token stop) const {
  detail::pass(*client_.engine(), detail::counter_claim(name_, kind, 1), {}, std::move(stop), "wait");
}
bool latch::wait_within(optional_duration wait, std::stop_token stop) const {
  return detail::pass(*client_.engine(), detail::counter_claim(name_, kind, 1), wait, std::move(stop), "wait");
}
operation<void> latch::async_wait(acquire_options options, std::stop_token stop) const {
  return detail::async_pass(*client_.engine(), detail::counter_claim(name_, kind, 1), options, std::move(stop));
}
void latch::arrive_and_wait(std::ptrdiff_t n) {
  count_down(n);
  wait();
}

}  // namespace holdfast
