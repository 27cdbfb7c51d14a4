#pragma once

#include "descriptor.hpp"
#include "process.hpp"

#include <holdfast/backend.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace holdfast::sqlite {

using session_id = std::int64_t;

/// Another client's process, held by a pidfd: whether it lives is one poll, and its death can be waited for.
class peer {
 public:
  /// Nothing if it is gone. Without a descriptor if it cannot be told (another pid namespace, an old kernel).
  static std::shared_ptr<peer> find(session_id id, const process& who, const process& self);

  peer(session_id id, descriptor pidfd) noexcept : id_(id), pidfd_(std::move(pidfd)) {}
  ~peer();
  peer(const peer&) = delete;
  peer& operator=(const peer&) = delete;

  session_id id() const noexcept { return id_; }
  bool watchable() const noexcept { return static_cast<bool>(pidfd_); }
  int descriptor_to_poll() const noexcept { return pidfd_.get(); }
  bool dead() const noexcept;

 private:
  friend class peers;

  session_id id_;
  descriptor pidfd_;
  spi::runtime* watched_by_ = nullptr;
};

/// The processes this client has met, by session.
///
/// Thread safety: safe.
class peers {
 public:
  /// `died` is called on the reactor thread, once per peer, for those that watch() was called for.
  peers(spi::runtime& engine, std::function<void(session_id)> died);
  ~peers();

  const process& self() const noexcept { return self_; }

  std::shared_ptr<peer> known(session_id id) const;
  /// The peer, which is kept if it can be watched; nothing if its process is gone.
  std::shared_ptr<peer> meet(session_id id, const process& who);
  void forget(session_id id);
  /// From now on its death is told.
  void watch(const std::shared_ptr<peer>& who);

 private:
  void drop_unused(std::vector<std::shared_ptr<peer>>& dropped);
  void on_death(peer& dead);

  spi::runtime& engine_;
  const std::function<void(session_id)> died_;
  const process self_;

  mutable std::mutex mutex_;
  std::unordered_map<session_id, std::shared_ptr<peer>> known_;
};

}  // namespace holdfast::sqlite
