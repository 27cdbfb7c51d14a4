#pragma once

#include <holdfast/backend.hpp>

#include <chrono>
#include <list>
#include <map>
#include <mutex>
#include <string>

namespace holdfast::memcached {

/// Those of this client who wait, each with its place behind the others of its name.
///
/// Thread safety: safe. Completions come with nothing locked.
class tickets {
 public:
  struct turn {
    std::chrono::nanoseconds pause{0};  ///< Until it should look again.
    bool note_due = false;              ///< The server should be told (again) that it waits.
    std::chrono::system_clock::time_point since;
  };
  /// It looked in vain.
  turn missed(const spi::claim& c, spi::time_point now);

  void watch(const spi::claim& c, spi::completion<spi::wake> done);
  /// It waits no more; false if it did not.
  bool close(const spi::owner_id& id);
  /// There may be room for so many of the first.
  void wake(const std::string& name, std::uint32_t count);

 private:
  struct ticket {
    std::string name;
    std::list<spi::owner_id>::iterator place;
    unsigned looks = 0;
    bool woken = false;
    spi::time_point noted{};
    std::chrono::system_clock::time_point since;
    spi::completion<spi::wake> watch;
  };

  std::mutex mutex_;
  std::map<spi::owner_id, ticket> all_;
  std::map<std::string, std::list<spi::owner_id>> lines_;
};

/// How long the server is to believe that somebody waits who is not heard of again.
std::int64_t note_lifetime(std::chrono::nanoseconds pause);

}  // namespace holdfast::memcached
