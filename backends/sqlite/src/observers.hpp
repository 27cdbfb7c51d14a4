#pragma once

#include "descriptor.hpp"
#include "peers.hpp"

#include <holdfast/backend.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace holdfast::sqlite {

/// Those who want to hear of changes. Every change is written to the database's log, and the kernel tells when that is
/// written to: observers cost the others nothing. What changes without a write, the end of a ttl and the death of a
/// process, is told by a timer and by the pidfds of those the latest inspect showed.
///
/// Thread safety: safe. Callbacks run on the reactor thread, with nothing of ours locked but their own mutex.
class observers : public std::enable_shared_from_this<observers> {
 public:
  observers(spi::runtime& engine, std::string log_path);
  ~observers();

  std::function<void()> add(std::function<void()> changed);
  bool any() const noexcept { return count_.load() != 0; }

  /// What was seen: changes by itself at `soonest`, and when one of these dies.
  void saw(spi::time_point soonest, std::vector<std::shared_ptr<peer>> participants);
  void changed();

 private:
  struct observer {
    std::function<void()> changed;
    // Recursive: a callback may end its own observation.
    std::recursive_mutex mutex;
    bool ended = false;
  };

  void start();
  void read_events();
  void look_again();

  spi::runtime& engine_;
  const std::string log_path_;
  std::atomic<int> count_{0};

  std::mutex mutex_;
  descriptor inotify_;
  std::vector<std::shared_ptr<observer>> all_;
  std::vector<std::shared_ptr<peer>> participants_;
  spi::runtime::timer timer_ = 0;
  spi::runtime::timer second_timer_ = 0;  // 0: none
  std::size_t second_looks_ = 0;          // how many there were since the latest write
};

}  // namespace holdfast::sqlite
