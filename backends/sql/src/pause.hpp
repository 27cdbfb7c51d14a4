#pragma once

#include <holdfast/backend.hpp>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

namespace holdfast::sql {

/// How long to wait before another attempt to connect: up to a second, between half of it and all, so that a thousand
/// clients of a server that comes back do not come at once.
inline std::chrono::nanoseconds pause_before_dialling(unsigned failures) {
  using namespace std::chrono_literals;
  thread_local std::minstd_rand random{std::random_device{}()};
  const auto whole = std::min<std::chrono::nanoseconds>(10ms * (1U << std::min(failures, 7U)), 1s);
  return whole / 2 +
         std::chrono::nanoseconds(std::uniform_int_distribution<std::int64_t>(0, whole.count() / 2)(random));
}

/// Runs `dial` where it may block: at once, or after failures when their pause is over.
inline void dial_later(spi::runtime& engine, unsigned failures, detail::unique_function<void()> dial) {
  if (failures == 0) return engine.post(std::move(dial));
  engine.at(engine.now() + pause_before_dialling(failures),
            [&engine, dial = std::move(dial)]() mutable { engine.post(std::move(dial)); });
}

}  // namespace holdfast::sql
