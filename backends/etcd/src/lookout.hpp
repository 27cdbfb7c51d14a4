#pragma once

#include "watches.hpp"

#include <map>

namespace holdfast::etcd {

/// Tells who waits for a key to go that it went. The watch of a key stands for a while after the last has stopped
/// listening: who waits behind the same one again and again opens one watch, not one per wait.
///
/// Thread safety: safe. News come on the library's thread.
class lookout : public std::enable_shared_from_this<lookout> {
 public:
  enum class news : std::uint8_t {
    gone,   ///< The key was deleted, or changed where that was asked for.
    doubt,  ///< It may have been: look.
  };
  using teller = std::function<void(const std::string& key, const spi::owner_id& who, news what)>;

  lookout(std::shared_ptr<watches> through, spi::runtime& engine, teller tell);

  /// What counts as news.
  enum class scope : std::uint8_t {
    key_deleted,
    key_changed,    ///< Written or deleted.
    below_deleted,  ///< Any key that begins so.
  };
  /// Of everything that happened to `key` after `since`. True: there is news already. One scope per key.
  bool listen(const std::string& key, scope which, std::int64_t since, const spi::owner_id& who);
  enum class afterwards : std::uint8_t { stand_by, close };
  void ignore(const std::string& key, const spi::owner_id& who, afterwards then);

 private:
  struct entry {
    watches::id watch = 0;
    std::int64_t began = 0;  // 0: not yet
    std::int64_t gone = 0;   // when there was news last
    std::map<spi::owner_id, std::int64_t> listeners;
    spi::time_point idle_since;
    scope which = scope::key_deleted;
  };

  watches::id open(const std::string& key, scope which);
  void began(const std::string& key, std::int64_t revision);
  void seen(const std::string& key, const mvccpb::Event& what);
  void refused(const std::string& key, const failure& why);
  void try_again(const std::string& key);
  void tidy_up();

  const std::shared_ptr<watches> watches_;
  spi::runtime& engine_;
  const teller tell_;
  std::mutex mutex_;
  std::map<std::string, entry> entries_;
  bool tidying_ = false;
};

}  // namespace holdfast::etcd
