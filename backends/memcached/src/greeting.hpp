#pragma once

#include "descriptor.hpp"
#include "reply.hpp"
#include "settings.hpp"

#include <holdfast/result.hpp>

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::memcached {

using steady = std::chrono::steady_clock;

/// One life of a server, from its start to its end. Its versions of items (CAS) count up from 1 in it, over all items:
/// with the second of its start before them they are tokens that increase over its lives, too.
///
/// A token has 53 bits, so that it fits wherever tokens are compared: 31 for the second, 22 for what one life may count
/// per second of it, in steps of 16, which a client may hand out itself. So lives of up to 262,144 writes per second,
/// on average, are told apart.
///
/// An era names a life: the second of its start, and in the bits that tokens count with whatever tells apart two
/// servers that were started in the same second. Those bits are no part of a token.
class server_life {
 public:
  static constexpr std::uint32_t block = 16;

  static std::uint64_t era(std::uint64_t second, std::uint64_t differs) { return second << 22 | (differs & low_bits); }
  static std::uint64_t token(std::uint64_t era, std::uint64_t cas) { return (era & ~low_bits) + cas * block; }

 private:
  static constexpr std::uint64_t low_bits = (std::uint64_t{1} << 22) - 1;
};

/// Where a socket connects to.
struct endpoint {
  sockaddr_storage to{};
  socklen_t size = 0;
};

/// What an address stands for. Blocks, by asking a name server.
result<std::vector<endpoint>> resolve(const address& with);
/// The same without asking anybody; nothing if the host is a name.
std::optional<std::vector<endpoint>> numeric(const address& with);

/// Makes a connection and learns who is there, in steps of which none blocks.
///
/// Thread safety: one thread at a time.
class greeting {
 public:
  greeting(const address& with, const settings& as, std::vector<endpoint> to, steady::time_point deadline);

  /// Goes as far as it can now. True: it is done. errc::unavailable: nobody there, or not ready; errc::rejected: the
  /// server does not want us; errc::unsupported: it lacks what locks need.
  result<bool> step();
  /// Waits until another step is worth it.
  void wait() const;

  std::uint64_t era() const noexcept { return era_; }
  descriptor take_socket() { return std::move(fd_); }

 private:
  enum class stage : std::uint8_t { nowhere, connecting, settings, login, start, too_young };

  failure late() const;
  result<bool> connect();
  result<bool> connected();
  result<bool> refused(int error);
  result<bool> say(std::string_view commands, stage next);
  result<std::optional<reply>> hear();
  result<bool> take_in(const reply& said);
  result<bool> read_settings(const reply& said);
  result<bool> read_login(const reply& said);
  result<bool> read_start(const reply& said);

  const std::string peer_;
  const std::string login_;  // user and password; empty: none
  const std::vector<endpoint> to_;
  const steady::time_point deadline_;
  std::size_t next_ = 0;             // of to_
  steady::time_point try_until_{};   // of the one that is tried
  steady::time_point look_again_{};  // at one that has only just started
  int error_ = 0;                    // of the last one that was tried
  stage at_ = stage::nowhere;
  bool logged_in_ = false;
  descriptor fd_;
  reply_reader reader_;
  std::uint64_t era_ = 0;
};

}  // namespace holdfast::memcached
