#include <holdfast/cell.hpp>

#include "ask.hpp"
#include "face.hpp"

namespace holdfast {

namespace {

constexpr std::size_t greatest_value = 1 << 20;

}  // namespace

cell::cell(client c, std::string name) : client_(std::move(c)), name_(std::move(name)) {
  detail::require(client_, name_, client_.engine()->supports().cell, "cell");
}

cell::snapshot cell::load() const {
  auto& e = *client_.engine();
  auto got = detail::ask<spi::cell_value>(
      e, "load", name_, [&](auto done) { e.store().load_cell(name_, spi::caller::may_block, std::move(done)); });
  return {std::move(got.value), got.version};
}

bool cell::compare_exchange(std::uint64_t version, std::string value) {
  if (value.size() > greatest_value) {
    throw error(
        {errc::invalid_argument, "a value of " + std::to_string(value.size()) + " bytes; up to 1 MiB is allowed"},
        "compare_exchange", name_);
  }
  auto& e = *client_.engine();
  const auto id = spi::owner_id::random();
  return detail::ask<bool>(e, "compare_exchange", name_, [&](auto done) {
    e.store().exchange_cell(name_, version, value, id, spi::caller::may_block, std::move(done));
  });
}

std::string cell::update(const std::function<std::string(const std::string&)>& change) {
  for (unsigned tries = 0;; ++tries) {
    const auto seen = load();
    auto value = change(seen.value);
    if (compare_exchange(seen.version, value)) return value;
    // Optimists that collide often step aside for a moment.
    if (tries >= 3) std::this_thread::sleep_for(detail::back_off(0) / 8);
  }
}

}  // namespace holdfast
