#pragma once

#include "connection.hpp"
#include "peers.hpp"
#include "sidecar.hpp"

#include <memory>
#include <string>

namespace holdfast::sqlite {

/// The clients in the database: our own row, and whether the others are still there.
///
/// Thread safety: under the connection's mutex, but for self().
class sessions {
 public:
  sessions(connection& db, peers& met, const sidecar& beside, const spi::identity& who);

  session_id self() const noexcept { return self_; }

  /// Our row is in the database. Written in the transaction of the first claim: those who only look leave none.
  bool enrolled() const noexcept { return state_ == state::there; }
  void enrol();  ///< In a write transaction.
  void committed() noexcept;
  void rolled_back() noexcept;
  void leave();  ///< Deletes our row, if there is one.

  /// Its process is gone for certain. Clients of other pid namespaces, and those without a row, are never dead here:
  /// their ttl tells.
  bool dead(session_id id);
  /// Somebody whose death matters to a claim of ours. Null for ourselves and where it cannot be told.
  std::shared_ptr<peer> neighbour(session_id id);

  struct client {
    std::string host;
    std::int64_t pid = 0;
    std::string name;
  };
  client describe(session_id id);

  /// Deletes the rows of dead clients that nothing refers to, and their mailboxes.
  void sweep();

 private:
  enum class state : std::uint8_t { absent, written, there };
  enum class found : std::uint8_t { alive, dead, unknown };

  found look(session_id id, std::shared_ptr<peer>& who);

  peers& met_;
  const sidecar& beside_;
  const spi::identity who_;
  const session_id self_;
  state state_ = state::absent;

  statement insert_;
  statement find_;
  statement delete_;
  statement unreferenced_;
};

}  // namespace holdfast::sqlite
