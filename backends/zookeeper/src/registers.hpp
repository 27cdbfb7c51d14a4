#pragma once

#include "count_record.hpp"
#include "session.hpp"

#include <holdfast/backend.hpp>

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace holdfast::zookeeper {

/// The numbers behind counting semaphores and latches, and fences: one node each, read, changed and written back unless
/// somebody was faster (the data version tells).
///
/// Thread safety: safe. Completions are called with nothing locked.
class registers {
 public:
  registers(session& store, spi::runtime& engine) : store_(store), engine_(engine) {}

  void enter(const spi::entry_request& request, spi::completion<spi::entry_result> done);
  void watch(const spi::claim& queued, spi::completion<spi::wake> done);
  void leave(const spi::claim& ours, spi::completion<bool> done);
  void count(const spi::count_request& request, spi::completion<spi::count_reply> done);
  void admit(const std::string& name, fencing_token token, spi::completion<fencing_token> done);

  void on_change(const std::string& path);
  void wake_all();

  /// Makes the directory of `path`, without an answer: what is sent next comes after it.
  static void make_directory(session& store, const std::string& path);
  static std::string path_in(const settings& where, std::string_view directory, const std::string& name);

 private:
  /// Changes what is there (nothing: there is no node yet). Nothing returned: it stays as it is.
  using edit = std::function<result<std::optional<std::string>>(const std::optional<std::string>&)>;
  /// What is read may be old, where it is not written back: must a quorum say that it is not?
  enum class confirming : std::uint8_t { no, yes };
  struct change_of_record {
    std::string path;
    watching how = watching::no;
    confirming confirm = confirming::no;
    edit apply;
    detail::unique_function<void(result<void>)> done;
  };
  using change_ptr = std::shared_ptr<change_of_record>;
  struct waiter {
    std::string path;
    bool woken = false;
    spi::completion<spi::wake> watch;
  };

  static confirming confirmed(spi::kind kind) noexcept;
  void update(change_ptr one);
  void read(const change_ptr& one);
  void write(const change_ptr& one, const std::optional<std::string>& now, int version);
  void confirm(const change_ptr& one, int version);
  void confirm_absence(const change_ptr& one);
  void end_wait(const spi::owner_id& id);
  void finish(const change_ptr& one, result<void> outcome);
  void refuse_locks(const std::string& name, spi::kind kind, detail::unique_function<void(result<void>)> done);
  void change_count(const std::string& name, spi::kind kind, watching how, confirming confirm,
                    std::function<result<bool>(count_record&)> step, detail::unique_function<void(result<void>)> done);

  session& store_;
  spi::runtime& engine_;
  std::mutex mutex_;  // guards what follows
  // Changes of one node by this client wait for each other here: at the server they would be tried in vain.
  std::map<std::string, std::deque<change_ptr>, std::less<>> under_way_;
  std::map<spi::owner_id, waiter> waiters_;
};

}  // namespace holdfast::zookeeper
