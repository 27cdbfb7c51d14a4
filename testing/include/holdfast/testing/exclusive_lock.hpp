#pragma once

#include <holdfast/client.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/operation.hpp>
#include <holdfast/options.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace holdfast::testing {

/// Everything of which only one can be had at a time. All of it must pass the same tests.
enum class lock_kind { mutex, recursive_mutex, shared_mutex, permit_semaphore, multi_mutex, quorum_mutex };
const char* to_string(lock_kind kind) noexcept;
std::optional<lock_kind> lock_kind_of(std::string_view word) noexcept;

/// A lock of any kind that excludes: a mutex, the writer's side of a shared_mutex, a semaphore of one permit, a
/// multi_mutex or quorum_mutex with one member.
class exclusive_lock {
 public:
  virtual ~exclusive_lock() = default;

  [[nodiscard]] virtual lease acquire(acquire_options options = {}, std::stop_token stop = {}) = 0;
  [[nodiscard]] virtual std::optional<lease> try_acquire(acquire_options options = {}, std::stop_token stop = {}) = 0;
  virtual operation<lease> async_acquire(acquire_options options = {}, std::stop_token stop = {}) = 0;

  /// Has it the std face below? A semaphore has not.
  virtual bool lockable() const = 0;
  virtual void lock() = 0;
  [[nodiscard]] virtual bool try_lock() = 0;
  [[nodiscard]] virtual bool try_lock_for(std::chrono::nanoseconds wait) = 0;
  [[nodiscard]] virtual bool try_lock_until(std::chrono::steady_clock::time_point deadline) = 0;
  virtual void unlock() noexcept = 0;
};

/// Throws as the constructor of that kind does.
std::unique_ptr<exclusive_lock> make_lock(lock_kind kind, const client& c, const std::string& name,
                                          lock_options options = {});

}  // namespace holdfast::testing
