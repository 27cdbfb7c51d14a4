#include <holdfast/testing/cutting_proxy.hpp>
#include <holdfast/testing/loopback.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <utility>

namespace holdfast::testing {

namespace {

int stream_socket() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

void send_all(int fd, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(fd, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return;
    if (sent < 0) continue;
    bytes += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

}  // namespace

/// A connection of a client, and ours to the server for it.
struct cutting_proxy::pair {
  int client = -1;
  int server = -1;
  bool gone = false;
  std::uint16_t port = 0;  // of the client
  bool hangs = false;
  std::string kept;  // not empty: nothing passes any more
};

cutting_proxy::cutting_proxy(std::uint16_t port) : server_(port) {
  listener_ = stream_socket();
  wake_ = ::eventfd(0, EFD_CLOEXEC);
  auto address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("cutting_proxy: no port");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

cutting_proxy::~cutting_proxy() {
  stop_ = true;
  ::eventfd_write(wake_, 1);
  thread_.join();
  for (auto& one : pairs_) drop(*one, manner::close);
  ::close(listener_);
  ::close(wake_);
}

void cutting_proxy::cut_after(direction which, std::size_t bytes, manner how) {
  const std::lock_guard lock(mutex_);
  armed_ = true;
  which_ = which;
  left_ = bytes;
  how_ = how;
}

void cutting_proxy::hang() {
  const std::lock_guard lock(mutex_);
  armed_ = false;
  hanging_ = true;
  how_ = manner::hang;
  ++cuts_;
}

void cutting_proxy::pass() {
  const std::lock_guard lock(mutex_);
  hangs_ = nullptr;
  for (auto& one : pairs_)
    if (one->hangs) drop(*one, manner::close);
  ::eventfd_write(wake_, 1);
  armed_ = false;
  if (!std::exchange(hanging_, false)) return;
  if (how_ != manner::stall)
    for (auto& one : pairs_) drop(*one, manner::close);
  ::eventfd_write(wake_, 1);
}

void cutting_proxy::hang_from(std::function<bool(std::uint16_t)> which) {
  const std::lock_guard lock(mutex_);
  hangs_ = std::move(which);
  for (auto& one : pairs_) one->hangs = hangs_(one->port);
  ::eventfd_write(wake_, 1);
}

void cutting_proxy::keep(std::string words, std::size_t after) {
  const std::lock_guard lock(mutex_);
  words_ = std::move(words);
  others_ = after;
}

bool cutting_proxy::kept() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(pairs_.begin(), pairs_.end(), [](const auto& one) { return !one->kept.empty(); });
}

void cutting_proxy::deliver() {
  const std::lock_guard lock(mutex_);
  for (const auto& one : pairs_)
    if (!one->gone) send_all(one->server, one->kept.data(), one->kept.size());
}

void cutting_proxy::let_go() {
  deliver();
  const std::lock_guard lock(mutex_);
  for (const auto& one : pairs_) one->kept.clear();
  ::eventfd_write(wake_, 1);
}

bool cutting_proxy::keeps(pair& on, std::string_view sent) {
  if (words_.empty() || sent.find(words_) == sent.npos) return false;
  if (others_ > 0) return --others_, false;
  words_.clear();
  on.kept = sent;
  return true;
}

void cutting_proxy::run() {
  while (!stop_) {
    std::vector<pollfd> watched{{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
    std::vector<pair*> of;
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(pairs_, [](const auto& one) { return one->gone; });
      for (auto& one : pairs_) {
        of.push_back(one.get());
        // Nothing is read while it hangs: whoever sends is told nothing.
        const bool silent = hanging_ || one->hangs || !one->kept.empty();
        watched.push_back({silent ? -1 : one->client, POLLIN, 0});
        watched.push_back({silent ? -1 : one->server, POLLIN, 0});
      }
    }
    ::poll(watched.data(), watched.size(), -1);
    const std::lock_guard lock(mutex_);
    eventfd_t times = 0;
    if (watched[0].revents != 0) ::eventfd_read(wake_, &times);
    if (watched[1].revents != 0) admit();
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (watched[2 + 2 * i].revents != 0) forward(*of[i], direction::to_server);
      if (watched[3 + 2 * i].revents != 0) forward(*of[i], direction::to_client);
    }
  }
}

void cutting_proxy::admit() {
  auto one = std::make_unique<pair>();
  sockaddr_in from{};
  socklen_t size = sizeof from;
  one->client = ::accept4(listener_, reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC);
  if (one->client < 0) return;
  one->port = ntohs(from.sin_port);
  one->hangs = hangs_ && hangs_(one->port);
  const int on = 1;
  ::setsockopt(one->client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  one->server = stream_socket();
  const auto address = loopback(server_);
  if (::connect(one->server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    drop(*one, manner::close);
  pairs_.push_back(std::move(one));
}

void cutting_proxy::forward(pair& on, direction which) {
  if (on.gone || hanging_ || on.hangs || !on.kept.empty()) return;
  const int from = which == direction::to_server ? on.client : on.server;
  const int to = which == direction::to_server ? on.server : on.client;
  std::array<char, 16384> chunk;
  const bool counted = armed_ && which == which_;
  const bool stalls = counted && how_ == manner::stall;
  // What is to pass later is left where it is.
  if (stalls && left_ == 0) return cut_all();
  const ssize_t got = ::recv(from, chunk.data(), stalls ? std::min(left_, chunk.size()) : chunk.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return drop(on, manner::close);
  auto size = static_cast<std::size_t>(got);
  if (counted) size = std::min(size, left_);
  if (which == direction::to_server && keeps(on, {chunk.data(), size})) return;
  send_all(to, chunk.data(), size);
  if (!counted) return;
  left_ -= size;
  if (left_ == 0) cut_all();
}

void cutting_proxy::cut_all() {
  armed_ = false;
  ++cuts_;
  hanging_ = how_ == manner::hang || how_ == manner::stall;
  if (hanging_) return;
  for (auto& one : pairs_) drop(*one, how_);
}

void cutting_proxy::drop(pair& one, manner how) {
  if (std::exchange(one.gone, true)) return;
  for (const int fd : {one.client, one.server}) {
    const linger abort{1, 0};
    if (how == manner::reset) ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &abort, sizeof abort);
    if (fd >= 0) ::close(fd);
  }
}

}  // namespace holdfast::testing
