#pragma once

#include "peers.hpp"
#include "sidecar.hpp"

#include <holdfast/backend.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace holdfast::sqlite {

/// A mailbox for one thread that blocks until its claim is granted: who hands over wakes that very thread, without a
/// detour over the reactor.
class bell {
 public:
  bell(const sidecar& beside, mailbox_id id, descriptor socket) noexcept
      : beside_(beside), id_(id), socket_(std::move(socket)) {}
  ~bell() { beside_.remove(id_); }
  bell(const bell&) = delete;
  bell& operator=(const bell&) = delete;

  mailbox_id id() const noexcept { return id_; }

  /// Blocks until the ticket is granted, or there may be something new, at the latest until `look_again`.
  spi::wake wait(const spi::owner_id& id, std::int64_t ticket, const std::vector<std::shared_ptr<peer>>& ahead,
                 spi::time_point look_again, const spi::runtime& engine) const;

 private:
  struct heard {
    std::optional<spi::wake> news;
    bool next = false;  ///< First in line, behind somebody who will not be long.
  };
  heard read(const spi::owner_id& id, std::int64_t ticket, spi::time_point now) const;
  /// Looks again and again for a moment instead of sleeping: to be woken can take longer than the wait.
  heard stay_awake(const spi::owner_id& id, std::int64_t ticket, const spi::runtime& engine) const;

  const sidecar& beside_;
  const mailbox_id id_;
  const descriptor socket_;
};

/// The bells of one client: as many as threads have waited at once. Thread safety: safe.
class bells {
 public:
  explicit bells(const sidecar& beside) noexcept : beside_(beside) {}

  std::unique_ptr<bell> borrow();              ///< Null where there can be none.
  void give_back(std::unique_ptr<bell> free);  ///< Null: nothing was borrowed.

 private:
  const sidecar& beside_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<bell>> free_;
};

}  // namespace holdfast::sqlite
