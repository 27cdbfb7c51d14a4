#pragma once

#include "descriptor.hpp"
#include "tls.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace holdfast::redis {

/// What a server says of itself; empty where it was not asked or does not let us ask.
struct introduction {
  std::string info;   ///< INFO
  std::string fsync;  ///< CONFIG GET appendfsync
};

/// A connection: a socket, and the TLS spoken over it, if any.
///
/// Thread safety: seal, open, owed and ended: one thread at a time. The socket may be used meanwhile.
struct line {
  descriptor fd;
  std::unique_ptr<tls_session> tls;  ///< Null: plain.
  std::string peer;                  ///< host:port at the other end, as it was dialled.
  introduction about;                ///< Of the server, where it votes.

  /// The bytes that carry `text`. None: the connection is at its end, as whoever reads will find.
  std::string seal(std::string text) const { return tls ? tls->seal(text) : std::move(text); }
  /// What the bytes received carry. A failure: the connection is of no more use.
  result<std::string_view> open(std::string_view bytes) const {
    return tls ? tls->open(bytes) : result<std::string_view>(bytes);
  }
  /// What is to be sent after open().
  std::string owed() const { return tls ? tls->owed() : std::string(); }
  bool ended() const noexcept { return tls && tls->ended(); }
};

}  // namespace holdfast::redis
