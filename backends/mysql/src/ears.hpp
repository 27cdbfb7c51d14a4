#pragma once

#include "connection.hpp"
#include "descriptor.hpp"
#include "settings.hpp"
#include "ways.hpp"

#include <holdfast/backend.hpp>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::mysql {

/// The connection that listens. Made when somebody first waits, and again whenever it breaks. A thread that blocks
/// until something is said to it reads what is said to all; the reactor does when there is none.
///
/// Each connection has a number of its own, and holds the lock (GET_LOCK) of that number as long as it lives: so
/// whoever lets the next one in sees at once whether anybody would hear of it. It sleeps at the server, unless there is
/// a letter for it. Whoever writes one interrupts it (KILL QUERY) once that is committed: it is then either asleep, or
/// about to look and find the letter.
///
/// Thread safety: safe. Everything is called with nothing locked, by the one who reads.
class ears final : public sql::listening, public std::enable_shared_from_this<ears> {
 public:
  struct callbacks {
    std::function<void(std::string_view payload)> message;
    /// Something may have been missed, and whoever is in line is so under a number that is no more.
    std::function<void()> gap;
  };

  ears(settings where, spi::runtime& engine, callbacks tell);
  ears(const ears&) = delete;
  ears& operator=(const ears&) = delete;
  ~ears() override;

  std::int64_t number() const override;
  void listen(ready done) override;
  bool lend(spi::loan& mine) override;
  void end(spi::loan& mine) noexcept override;

 private:
  using guard = std::unique_lock<std::mutex>;

  void connect();  // with mutex_ held
  void dial_now();
  bool ready_to_read();    // with mutex_ held
  void arm();              // with mutex_ held
  void disarm();           // with mutex_ held
  void let_others_read();  // with mutex_ held
  void read_ready();
  void read_for(spi::loan& mine, guard& lock);
  void read_some(const std::shared_ptr<connection>& from, short came, guard& lock);
  bool take_in(const reply& one, std::vector<std::string>& letters);  // with mutex_ held
  void ask_next();                                                    // with mutex_ held
  void hang_up(const std::string& why, guard& lock);
  void watch_over();  // with mutex_ held
  void on_beat();

  const settings where_;
  spi::runtime& engine_;
  const callbacks tell_;

  mutable std::mutex mutex_;
  std::shared_ptr<connection> line_;  // null: no connection
  std::int64_t number_ = 0;
  sql::descriptor gate_;         // an epoll set with the socket in it while the reactor is to read
  sql::descriptor kick_;         // an eventfd that wakes the thread that reads
  bool watched_ = false;         // the reactor knows the gate
  short armed_ = 0;              // for what of the socket
  bool reactor_reads_ = false;   // at this moment
  spi::loan* driver_ = nullptr;  // whose thread reads
  std::thread::id driving_;
  std::list<spi::loan*> resting_;  // the others
  std::vector<std::pair<spi::time_point, ready>> waiting_;
  bool dialling_ = false;
  bool watched_over_ = false;
  enum class phase : std::uint8_t { sleeps, fetches } phase_ = phase::sleeps;
  std::set<std::string> heard_;  // letters that were read and are to be thrown away
  spi::time_point last_heard_;   // anything from the server
  unsigned failures_ = 0;
};

}  // namespace holdfast::mysql
