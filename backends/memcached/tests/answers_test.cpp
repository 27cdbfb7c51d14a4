#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/loopback.hpp>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

// A server that answers what no memcached would.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

/// Greets as a memcached does, and then says to every command whatever the test wants. One connection at a time.
class odd_server {
 public:
  /// `item`: what it was given last to keep. "close": it hangs up.
  using answers = std::function<std::string(const std::string& command, const std::string& item)>;

  explicit odd_server(answers say) : say_(std::move(say)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto at = loopback(0);
    socklen_t size = sizeof at;
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size) != 0)
      ADD_FAILURE() << "cannot listen";
    port_ = ntohs(at.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  odd_server(const odd_server&) = delete;
  odd_server& operator=(const odd_server&) = delete;
  ~odd_server() {
    stop_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    if (const int fd = current_.load(); fd >= 0) ::shutdown(fd, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  int connections() const { return connections_; }
  int resets() const { return resets_; }  ///< Those of them whose other end dropped what was under way.

  std::string url() const { return "memcached://127.0.0.1:" + std::to_string(port_); }

 private:
  void serve() {
    while (!stop_) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      current_ = fd;
      ++connections_;
      converse(fd);
      current_ = -1;
      ::close(fd);
    }
  }
  void converse(int fd) {
    std::string in;
    std::string writes;
    std::string item;
    char chunk[4096];
    ssize_t got = 0;
    while (!stop_ && (got = ::recv(fd, chunk, sizeof chunk, 0)) > 0) {
      in.append(chunk, static_cast<std::size_t>(got));
      for (auto end = in.find("\r\n"); end != in.npos; end = in.find("\r\n")) {
        const std::string line = in.substr(0, end);
        in.erase(0, end + 2);
        std::string out;
        if (line == "stats settings") out = "STAT cas_enabled yes\r\nEND\r\n";
        if (line == "stats") out = "STAT uptime 100\r\nSTAT time 1000000\r\nEND\r\n";
        if (line.starts_with("mg ") || line.starts_with("md ")) out = say_(line, item);
        if (line.starts_with("add ") || line.starts_with("cas ")) writes = line;
        // What is to be kept has but one end of line.
        if (line.starts_with("holdfast/1")) out = say_(writes, item = line);
        if (out == "close") return;
        if (::send(fd, out.data(), out.size(), MSG_NOSIGNAL) < 0) return;
      }
    }
    // An end in good order comes alone; after one that drops what is under way the socket is in error.
    pollfd watched{fd, 0, 0};
    if (got < 0 || (::poll(&watched, 1, 200) > 0 && (watched.revents & POLLERR) != 0)) ++resets_;
  }

  const answers say_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  std::atomic<int> current_{-1};
  std::atomic<int> connections_{0};
  std::atomic<int> resets_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

std::string mark_of(const std::string& command) { return command.substr(command.rfind(" O")); }

}  // namespace

TEST(memcached_answers, nonsense_grants_nothing_and_hangs_nobody) {
  const std::string nonsense[] = {"hello\r\n",
                                  "HD c1\r\n",
                                  "STORED\r\n",
                                  "NOT_STORED\r\n",
                                  "HD c1 O99999\r\n",
                                  "VA x\r\n",
                                  "VA 3 c1 O1\r\nabcdef\r\n",
                                  "\r\n",
                                  std::string(20'000, 'x'),
                                  "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
                                  "CLIENT_ERROR bad command line format\r\nERROR\r\n",
                                  "close"};
  for (const auto& said : nonsense) {
    const odd_server server([&](const std::string&, const std::string&) { return said; });
    mutex m(connect(server.url(), {.request_timeout = 400ms}), "m");
    try {
      EXPECT_FALSE(m.try_acquire()) << said.substr(0, 60);
    } catch (const error& e) {
      EXPECT_TRUE(e.code() == errc::unavailable || e.code() == errc::rejected) << e.what();
    }
  }
}

TEST(memcached_answers, a_server_out_of_memory_is_told_as_such) {
  const odd_server server([](const std::string& command, const std::string&) {
    if (command.starts_with("add ")) return std::string("SERVER_ERROR out of memory storing object\r\n");
    return "EN" + mark_of(command) + "\r\n";
  });
  mutex m(connect(server.url()), "m");
  EXPECT_TRUE(throws(errc::rejected, [&] { return m.try_acquire(); }));
}

TEST(memcached_answers, a_renewal_the_server_has_no_memory_for_is_no_loss) {
  const odd_server server([](const std::string& command, const std::string& item) {
    if (command.starts_with("add ")) return std::string("STORED\r\n");
    if (command.starts_with("cas ")) return std::string("SERVER_ERROR out of memory storing object\r\n");
    return "VA " + std::to_string(item.size()) + " c7 t20" + mark_of(command) + "\r\n" + item + "\r\n";
  });
  mutex m(connect(server.url(), {.request_timeout = 400ms}), "m");
  lease held = m.acquire({.ttl = 20s});
  EXPECT_FALSE(held.renew().has_value());
  EXPECT_TRUE(held.valid()) << "nobody has said that it is lost";
}

TEST(memcached_answers, a_lock_that_is_gone_right_after_its_renewal_is_lost) {
  const odd_server server([renewed = false](const std::string& command, const std::string& item) mutable {
    renewed = renewed || command.starts_with("cas ");
    if (command.starts_with("add ") || command.starts_with("cas ")) return std::string("STORED\r\n");
    if (renewed) return "EN" + mark_of(command) + "\r\n";
    return "VA " + std::to_string(item.size()) + " c7 t20" + mark_of(command) + "\r\n" + item + "\r\n";
  });
  mutex m(connect(server.url()), "m");
  lease held = m.acquire({.ttl = 20s});
  EXPECT_TRUE(failed(errc::lost, held.renew()));
}

TEST(memcached_answers, silence_is_unavailable_in_time) {
  const odd_server server([](const std::string&, const std::string&) { return std::string(); });
  mutex m(connect(server.url(), {.request_timeout = 300ms}), "m");
  EXPECT_TRUE(throws(errc::unavailable, [&] { return m.try_acquire(); }));
  EXPECT_TRUE(eventually([&] { return server.resets() > 0; })) << "what is still under way could arrive later";
}

TEST(memcached_answers, a_write_to_a_cell_that_cannot_be_found_out_about_is_not_done_twice) {
  std::atomic<int> writes{0};
  const odd_server server([&](const std::string& command, const std::string&) -> std::string {
    // The answer to the first is lost, and when it is asked again many others have written.
    if (!command.starts_with("mg ")) return ++writes == 1 ? "close" : "STORED\r\n";
    if (writes == 0) return "EN" + mark_of(command) + "\r\n";
    const std::string text = "holdfast/1 cell\nc\n" + std::string(64 * 16, 'f') + "\n7";
    return "VA " + std::to_string(text.size()) + " c9" + mark_of(command) + "\r\n" + text + "\r\n";
  });
  cell c(connect(server.url()), "c");
  EXPECT_TRUE(throws(errc::rejected, [&] { return c.update([](const std::string&) { return "1"; }); }));
  EXPECT_EQ(writes, 1);
}

TEST(memcached_answers, who_has_no_time_left_does_not_break_the_connection_of_all) {
  // Always somebody else is quicker, until the time is over.
  const odd_server server([](const std::string& command, const std::string&) {
    if (command.starts_with("add ")) return std::string("NOT_STORED\r\n");
    return "EN" + mark_of(command) + "\r\n";
  });
  permit_semaphore s(connect(server.url(), {.request_timeout = 300ms}), "s", 2);
  EXPECT_TRUE(throws(errc::unavailable, [&] { return s.try_acquire(); }));
  EXPECT_TRUE(throws(errc::unavailable, [&] { return s.try_acquire(); }));
  EXPECT_EQ(server.connections(), 1);
}

}  // namespace holdfast::testing
