#pragma once

#include "bell.hpp"
#include "count_desk.hpp"
#include "database_file.hpp"
#include "lock_desk.hpp"
#include "observers.hpp"
#include "peers.hpp"
#include "post_office.hpp"
#include "registers.hpp"
#include "sessions.hpp"
#include "sidecar.hpp"
#include "tickets.hpp"
#include "transactions.hpp"

#include <holdfast/backend.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::sqlite {

/// One client's end of the database: every operation as a blocking call.
///
/// Thread safety: safe. Calls return within client_options::request_timeout, but for enter_and_wait.
class store : public std::enable_shared_from_this<store> {
 public:
  /// Blocks at most options.connect_timeout.
  static result<std::shared_ptr<store>> open(uri where, spi::runtime& engine);
  ~store();

  std::string identity() const { return file_.identity(); }

  result<spi::entry_result> enter(const spi::entry_request& request);
  /// Blocks the calling thread until the claim is granted. As enter where no mailbox can be had.
  result<spi::entry_result> enter_and_wait(const spi::entry_request& request);
  void watch(const spi::claim& queued, spi::completion<spi::wake> done);
  result<bool> leave(const spi::claim& ours);
  result<std::vector<spi::renewal_outcome>> renew(const std::vector<spi::claim>& held);
  result<bool> convert(const spi::claim& held, spi::access to);
  result<bool> raise(const spi::claim& held, fencing_token floor);

  result<spi::count_reply> count(const spi::count_request& request);
  result<spi::cell_value> load_cell(const std::string& name);
  result<bool> exchange_cell(const std::string& name, std::uint64_t expected, const std::string& value,
                             const spi::owner_id& id);
  result<fencing_token> admit(const std::string& name, fencing_token token);

  result<std::vector<entry>> inspect(const std::string& prefix);
  result<bool> evict(const std::string& name);
  std::function<void()> observe(std::function<void()> changed);

 private:
  store(database_file file, sidecar beside, std::unique_ptr<connection> db, spi::runtime& engine);

  result<entry_outcome> enter_at(const spi::entry_request& request, std::function<mailbox_id()> mailbox);
  result<std::optional<spi::granted>> enter_alone(const spi::entry_request& request);
  void deliver(const message& news);
  void after_commit(const outbox& letters);
  void keep_up();
  instant now() const noexcept { return to_instant(engine_.now()); }
  entry describe(const std::string& name, const lock_row& row, instant now, spi::time_point& soonest,
                 std::vector<std::shared_ptr<peer>>& participants);

  /// Whether a name was contended when it was last seen, by its hash: then the way that counts on being alone is not
  /// even tried. A wrong guess costs a little time.
  std::atomic<bool>& crowded(const std::string& name) noexcept;

  spi::runtime& engine_;
  const database_file file_;
  const sidecar beside_;
  const std::unique_ptr<connection> db_;

  peers met_;
  tickets standing_;
  sessions clients_;
  lock_table table_;
  lock_desk locks_;
  count_desk counts_;
  registers registers_;
  transactions transact_;
  const std::shared_ptr<post_office> post_;
  bells bells_;
  const std::shared_ptr<observers> observers_;
  std::array<std::atomic<bool>, 256> crowded_{};
  std::atomic<bool> upkeep_posted_{false};
};

}  // namespace holdfast::sqlite
