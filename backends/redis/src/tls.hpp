#pragma once

#include "tls_settings.hpp"

#include <holdfast/result.hpp>

#include <memory>
#include <string>
#include <string_view>

struct ssl_ctx_st;
struct ssl_st;

namespace holdfast::redis {

/// One side of a TLS connection (1.2 or later), without its socket: turns text into the bytes to send, and bytes
/// received into text. So whoever has the socket keeps it, with its deadlines and its threads.
///
/// Thread safety: one thread at a time.
class tls_session {
 public:
  /// `host` is verified and sent as the server's name, unless the settings name another. Certificates are read anew:
  /// who replaces them on disk has them used by the next connection. errc::rejected: they are no good.
  static result<std::unique_ptr<tls_session>> make(const tls_settings& how, const std::string& host);
  ~tls_session();

  /// Goes on with the handshake; true when it is done. Send what is owed() whatever comes of it.
  /// errc::rejected: they will not come together, however often they try.
  result<bool> shake_hands(std::string_view received);
  /// The bytes that carry `text`; empty: the session is at its end.
  std::string seal(std::string_view text);
  /// What `received` carries, often nothing; it lives until the next call. A failure ends the session.
  result<std::string_view> open(std::string_view received);
  /// What must be sent without being asked for (the handshake, new keys, a last word).
  std::string owed();
  bool ended() const noexcept { return ended_; }  ///< The other side has said its last word.

 private:
  struct closer {
    void operator()(ssl_ctx_st* context) const noexcept;
    void operator()(ssl_st* session) const noexcept;
  };

  tls_session() = default;
  result<void> trust(const tls_settings& how);
  result<void> show(const tls_settings& how);
  result<void> expect(const std::string& name, tls_settings::verification verify);
  failure why() const;

  std::unique_ptr<ssl_ctx_st, closer> context_;
  std::unique_ptr<ssl_st, closer> session_;
  std::string name_;
  std::string text_;
  bool ended_ = false;
};

}  // namespace holdfast::redis
