#pragma once

#include "directory.hpp"
#include "doorbell.hpp"
#include "handle_cache.hpp"
#include "lock_file.hpp"

#include <holdfast/backend.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace holdfast::file {

/// One client of a directory of lock files.
///
/// Calls on a local file system are short and done on the calling thread; on a remote one, a caller that must not block
/// has them done on the engine's thread for that.
///
/// Thread safety: safe.
class file_backend final : public spi::backend {
 public:
  static constexpr spi::capabilities can{.mutex = true, .shared_mutex = true, .permits = true, .raise_token = true};

  file_backend(std::shared_ptr<const directory> where, spi::runtime& engine);
  file_backend(const file_backend&) = delete;
  file_backend& operator=(const file_backend&) = delete;
  ~file_backend() override;

  spi::capabilities supports() const noexcept override { return can; }
  std::string identity() const override { return "file:" + where_->id(); }

  void enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) override;
  void watch(const spi::claim& queued, spi::completion<spi::wake> done) override;
  void leave(const spi::claim& ours, spi::caller from, spi::completion<bool> done) override;
  void renew(const std::vector<spi::claim>& held, spi::completion<std::vector<spi::renewal_outcome>> done) override;
  void convert(const spi::claim& held, spi::access to, spi::caller from, spi::completion<bool> done) override;
  void raise(const spi::claim& held, fencing_token floor, spi::caller from, spi::completion<bool> done) override;

  void inspect(const std::string& prefix, spi::completion<std::vector<entry>> done) override;
  void evict(const std::string& name, spi::completion<bool> done) override;
  std::function<void()> observe(const std::string& prefix, std::function<void()> changed) override;

  const directory& where() const noexcept { return *where_; }
  /// The grants this client has on a name.
  std::vector<spi::owner_id> held_here(const std::string& name) const;
  /// Ends them; their leases are told.
  void evict_own(const std::string& name);

 private:
  /// What this client has of a name, or wants.
  struct stake {
    std::mutex mutex;  // one call at a time has the file
    std::unique_ptr<lock_file> file;
    std::optional<spi::granted> grant;
    std::atomic<bool> held{false};  // is there a grant? Without the mutex, which a blocking wait keeps
    spi::time_point in_line_since;
  };
  struct owner_hash {
    std::size_t operator()(const spi::owner_id& id) const noexcept;
  };
  struct named_stake {
    std::string name;
    std::shared_ptr<stake> what;
  };

  template <class T, class Task>
  void run(spi::caller from, spi::completion<T> done, Task task);

  result<spi::entry_result> enter_now(const spi::entry_request& request);
  result<spi::entry_result> enter_now(const spi::entry_request& request, doorbell::watches& moved);
  result<lock_file::step> attempt(const spi::entry_request& request, stake& mine);
  result<lock_file::step> attempt_from_line(const spi::entry_request& request, stake& mine);
  spi::time_point next_look(const spi::entry_request& request, const stake& mine) const;
  bool leave_now(const std::string& name, const spi::owner_id& id);
  void lose_removed(const std::string& file_name);
  spi::renewal_outcome renew_one(const spi::claim& held);
  std::shared_ptr<stake> find(const spi::owner_id& id) const;
  std::shared_ptr<stake> find_or_make(const spi::claim& claim);
  std::shared_ptr<stake> remove(const spi::owner_id& id);
  holder describe(const spi::claim& claim) const;

  const std::shared_ptr<const directory> where_;
  spi::runtime& engine_;
  const std::uint64_t process_start_;
  const std::shared_ptr<doorbell> bell_;
  handle_cache idle_;
  std::atomic<std::uint64_t> removals_{0};  // how often lose_removed began

  mutable std::mutex mutex_;  // guards stakes_
  std::unordered_map<spi::owner_id, named_stake, owner_hash> stakes_;
};

}  // namespace holdfast::file
