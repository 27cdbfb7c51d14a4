#pragma once

#include <holdfast/backend.hpp>

#include <mutex>

namespace holdfast::memory {

/// One client of a store. Its grants keep it alive beyond the client: inspect still says who they belong to.
///
/// Thread safety: safe.
class session {
 public:
  explicit session(spi::runtime& engine);

  const spi::identity& who() const noexcept { return who_; }
  /// Tells the client that its grant was taken; nothing once it is closed.
  void lost(const spi::owner_id& id) noexcept;
  /// The client goes. Waits for a call of lost() that runs: the engine is about to be destroyed.
  void close() noexcept;

 private:
  const spi::identity who_;
  std::mutex mutex_;
  spi::runtime* engine_;  // null once closed
};

}  // namespace holdfast::memory
