#pragma once

#include <holdfast/lease.hpp>

namespace holdfast::detail {

/// What stands behind a lease: one grant of a store, a nested entry, or several leases taken together.
/// Thread safety: all members may be called concurrently.
class hold {
 public:
  virtual ~hold() = default;

  virtual const std::string& name() const noexcept = 0;
  virtual std::string id() const = 0;
  virtual fencing_token token() const noexcept = 0;
  virtual lease_clock::time_point valid_until() const noexcept = 0;
  virtual lease_clock::time_point now() const noexcept = 0;
  virtual bool valid() const noexcept = 0;
  virtual std::stop_token lost() const noexcept = 0;
  virtual loss loss_cause() const noexcept = 0;

  virtual result<void> renew() = 0;
  virtual result<void> release() = 0;
  virtual result<void> downgrade() = 0;
  virtual result<bool> try_upgrade() = 0;
  /// The lease is gone: release what is still held, log what fails.
  virtual void drop() noexcept = 0;
};

}  // namespace holdfast::detail
