#pragma once

#include "descriptor.hpp"
#include "directory.hpp"

#include <holdfast/backend.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace holdfast::file {

/// Wakes those of this client's claims that stand in line, one per name at a time, when the lock file says so: a
/// release changes its times, and a holder that dies closes it. And hears of lock files that are removed or replaced.
///
/// The kernel reports the closing a moment before it ends the lock. Who looks in vain after one is therefore woken
/// again after 1, 5, 20 and 100 ms.
///
/// Thread safety: safe. Completions run with nothing locked.
class doorbell : public std::enable_shared_from_this<doorbell> {
 public:
  doorbell(spi::runtime& engine, std::shared_ptr<const directory> where);
  ~doorbell();

  /// Calls `removed`, on the reactor thread, with the name of each lock file that is removed or replaced from a moment
  /// after the first call on; at the beginning, and whenever in doubt, with an empty one: any may have been.
  using removal = std::function<void(const std::string& file_name)>;
  void listen_for_removals_soon(removal removed);
  /// No call of `removed` runs or starts after this returned.
  void end_removals() noexcept;

  /// Starts to listen for a claim; again where the file was removed.
  void join(const std::string& name, const spi::owner_id& id);
  enum class parting {
    alone,     ///< It is in and lets nobody in beside it: its leaving will ring.
    made_way,  ///< It gave up, or others may come in beside it.
  };
  /// There is another file of this name: listens to that one. All claims that wait must go there; their watches are
  /// returned to be ended, with nothing locked.
  using watches = std::vector<spi::completion<spi::wake>>;
  [[nodiscard]] watches move_to_new_file(const std::string& name);
  static void end(watches& woken);
  /// The claim does not wait any more: its watch, if there is one, ends.
  void part(const std::string& name, const spi::owner_id& id, parting how);

  /// How often the bell rang. Ask before an attempt and tell after it.
  std::uint64_t rings(const std::string& name) const;
  /// `ticket`: the lowest of this client is the one to wake.
  void tried_in_vain(const std::string& name, const spi::owner_id& id, std::uint64_t ticket,
                     std::uint64_t rings_before);

  void watch(const std::string& name, const spi::owner_id& id, spi::completion<spi::wake> done);
  /// When to look again although nothing was heard: soon, where nothing can be heard.
  spi::time_point look_again() const;

 private:
  struct place {
    spi::owner_id id;
    std::uint64_t ticket;    // the largest number before it is known
    std::uint64_t seen = 0;  // rings before its latest attempt
    spi::completion<spi::wake> watch;
    bool moved = false;  // to a new file, and not told yet
  };
  struct line {
    int wd = -1;
    std::uint64_t rings = 0;
    std::size_t looks_after_close;  // of the ladder; at its end: none due
    std::vector<place> places;      // by ticket
  };

  // With mutex_ held:
  bool start();
  void listen(const std::string& name, line& l);
  void close(const std::string& name, line& l);
  static void ring(line& l, watches& woken);
  static void wake_first_if_it_rang(line& l, watches& woken);
  line* find(const std::string& name);

  void on_events();
  void start_removals();
  void tell_removed(const std::vector<std::string>& file_names);
  void read_events(const char* begin, const char* end, watches& woken, std::vector<std::string>& removed);
  void ring_again(const std::string& name);

  spi::runtime& engine_;
  const std::shared_ptr<const directory> where_;

  mutable std::mutex mutex_;
  descriptor inotify_;
  bool deaf_ = false;
  std::unordered_map<std::string, line> lines_;
  std::unordered_map<int, std::string> names_;  // by watch descriptor
  int directory_wd_ = -1;

  std::atomic<bool> removals_due_{false};
  std::mutex removal_mutex_;  // held while removed_ runs
  removal removed_;
};

}  // namespace holdfast::file
