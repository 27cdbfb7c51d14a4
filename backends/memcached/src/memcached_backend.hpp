#pragma once

#include "items.hpp"
#include "observers.hpp"
#include "settings.hpp"
#include "tickets.hpp"

#include <holdfast/backend.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace holdfast::memcached {

/// One or more memcached servers, each with the names that fall to it. A lock is one item, added if it is not there,
/// and changed or deleted only in the version in which it was seen to be ours. See README.md.
///
/// Thread safety: safe.
class memcached_backend final : public spi::backend {
 public:
  static constexpr spi::capabilities can{.mutex = true, .permits = true, .cell = true};

  /// Blocks at most connect_timeout.
  static result<std::unique_ptr<spi::backend>> open(settings where, spi::runtime& engine);
  memcached_backend(settings where, spi::runtime& engine);

  spi::capabilities supports() const noexcept override { return can; }
  std::string identity() const override { return "memcached:" + where_.shown(); }

  void enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) override;
  void watch(const spi::claim& queued, spi::completion<spi::wake> done) override;
  void leave(const spi::claim& ours, spi::caller from, spi::completion<bool> done) override;
  void renew(const std::vector<spi::claim>& held, spi::completion<std::vector<spi::renewal_outcome>> done) override;

  void load_cell(const std::string& name, spi::caller from, spi::completion<spi::cell_value> done) override;
  void exchange_cell(const std::string& name, std::uint64_t expected, std::string value, spi::owner_id id,
                     spi::caller from, spi::completion<bool> done) override;

  void inspect(const std::string& prefix, spi::completion<std::vector<entry>> done) override;
  void evict(const std::string& name, spi::completion<bool> done) override;
  std::function<void()> observe(const std::string& prefix, std::function<void()> changed) override;
  void examine(spi::completion<std::vector<finding>> done) override;

 private:
  using entered = spi::completion<spi::entry_result>;
  using outcomes = std::vector<spi::renewal_outcome>;
  enum class answered : std::uint8_t { in_time, late };
  /// The version of an item in which a mutex is ours; 0: not known.
  struct version {
    std::uint64_t era = 0;
    std::uint64_t cas = 0;
    holder who;
  };
  struct entering;  // one entry, over its attempts
  struct round;     // of renewals
  struct exchange;  // of a cell's value

  holder described(const spi::claim& c) const;
  void enter_once(const std::shared_ptr<entering>& one);
  void enter_again(const std::shared_ptr<entering>& one);
  void enter_mutex(const std::shared_ptr<entering>& one);
  void enter_permits(const std::shared_ptr<entering>& one);
  bool late(spi::time_point sent) const;
  spi::entry_result grant(const spi::entry_request& request, std::uint64_t token, spi::time_point expires);
  spi::entry_result wait(const spi::entry_request& request);
  void stop_waiting(const spi::claim& c);
  void leave_item(const spi::claim& ours, spi::time_point deadline, spi::completion<bool> done);
  void renew_mutex(const spi::claim& held, spi::time_point deadline,
                   const std::function<void(spi::renewal_outcome, answered)>& told);
  /// All of one name, by reading and writing it back.
  void renew_item(const std::vector<spi::claim>& held, spi::time_point deadline,
                  const std::function<void(const outcomes&, answered)>& told);
  answered pace(spi::time_point sent) const;
  spi::renewal_outcome gone(const spi::claim& held);
  spi::renewal_outcome renewed(const spi::claim& held, items::revision& made);
  void try_exchange(const std::shared_ptr<exchange>& one);
  void fail_exchange(exchange& one, const failure& why);

  std::optional<version> known(const spi::owner_id& id);
  void remember(const spi::owner_id& id, version seen);
  void refresh(const spi::owner_id& id, version seen);  ///< Unless it was forgotten meanwhile.
  bool forget(const spi::owner_id& id);

  const settings where_;
  spi::runtime& engine_;
  items items_;
  tickets tickets_;
  const std::shared_ptr<observers> observers_;
  std::mutex mutex_;
  std::map<spi::owner_id, version> versions_;
  std::set<std::string> doubts_;  // ids of writes to cells whose answers were lost
};

}  // namespace holdfast::memcached
