#include "session.hpp"

namespace holdfast::memory {

session::session(spi::runtime& engine) : who_(engine.who()), engine_(&engine) {}

void session::lost(const spi::owner_id& id) noexcept {
  std::lock_guard lock(mutex_);
  if (engine_ != nullptr) engine_->lost(id, loss::taken);
}

void session::close() noexcept {
  std::lock_guard lock(mutex_);
  engine_ = nullptr;
}

}  // namespace holdfast::memory
