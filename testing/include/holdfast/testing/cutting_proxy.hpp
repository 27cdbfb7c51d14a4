#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::testing {

/// A TCP proxy on this machine that passes everything on, until it is told to cut: then it passes on so many more bytes
/// of one direction and closes every connection there is. New connections are passed on again.
///
/// Thread safety: safe.
class cutting_proxy {
 public:
  enum class direction : std::uint8_t { to_server, to_client };
  enum class manner : std::uint8_t {
    close,  ///< Both ends see the end of the stream.
    reset,  ///< Both ends see the connection reset.
    hang,   ///< Nothing more passes, and nobody is told: a cable that was pulled.
    stall,  ///< The same, but pass() lets everything go on.
  };

  /// For the server on `port` of this machine.
  explicit cutting_proxy(std::uint16_t port);
  cutting_proxy(const cutting_proxy&) = delete;
  cutting_proxy& operator=(const cutting_proxy&) = delete;
  ~cutting_proxy();

  std::uint16_t port() const noexcept { return port_; }

  /// Cuts after `bytes` more in that direction, whichever connection they are on.
  void cut_after(direction which, std::size_t bytes, manner how = manner::close);
  void hang();                                ///< At once, as manner::hang.
  void pass();                                ///< No cut; what hangs is closed, what stalls goes on.
  std::size_t cuts() const { return cuts_; }  ///< So far.

  /// Nothing passes, now and later, on the connections from the ports that `which` says yes to; until pass().
  void hang_from(std::function<bool(std::uint16_t port)> which);

  /// Keeps what a client sends with `words` in it, after so many others that had them; nothing more of that connection
  /// passes, and nobody is told.
  void keep(std::string words, std::size_t after = 0);
  bool kept() const;
  /// Passes on what was kept, however long ago its client has given up on it.
  void deliver();
  /// The same, and everything passes again.
  void let_go();

 private:
  struct pair;

  void run();
  void admit();
  void forward(pair& on, direction which);
  void cut_all();
  void drop(pair& one, manner how);
  bool keeps(pair& on, std::string_view sent);

  const std::uint16_t server_;
  int listener_ = -1;
  int wake_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<std::size_t> cuts_{0};
  mutable std::mutex mutex_;
  std::function<bool(std::uint16_t)> hangs_;  // null: none
  std::string words_;                         // empty: nothing is kept
  std::size_t others_ = 0;
  bool armed_ = false;
  bool hanging_ = false;  // or stalling
  direction which_ = direction::to_server;
  manner how_ = manner::close;
  std::size_t left_ = 0;
  std::vector<std::unique_ptr<pair>> pairs_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace holdfast::testing
