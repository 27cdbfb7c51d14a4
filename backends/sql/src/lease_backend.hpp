#pragma once

#include "layout.hpp"
#include "observers.hpp"
#include "server_clock.hpp"
#include "tickets.hpp"
#include "ways.hpp"

#include <holdfast/backend.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::sql {

/// A database with the tables and routines of a layout: every operation is one call of a routine there.
/// A dialect's own backend says how to get there.
///
/// Thread safety: safe.
class lease_backend : public spi::backend {
 public:
  static constexpr spi::capabilities can{.mutex = true,
                                         .shared_mutex = true,
                                         .permits = true,
                                         .semaphore = true,
                                         .latch = true,
                                         .cell = true,
                                         .fence = true,
                                         .fifo = true,
                                         .raise_token = true};

  /// What ShedLock's table can do.
  static constexpr spi::capabilities can_share{.mutex = true};

  lease_backend(spi::runtime& engine, statements say, const layout& which);

  spi::capabilities supports() const noexcept override { return shares_ ? can_share : can; }

  void enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) override;
  void watch(const spi::claim& queued, spi::completion<spi::wake> done) override;
  bool lend(spi::loan& mine) override { return ears().lend(mine); }
  void end(spi::loan& mine) noexcept override { ears().end(mine); }
  void leave(const spi::claim& ours, spi::caller from, spi::completion<bool> done) override;
  void renew(const std::vector<spi::claim>& held, spi::completion<std::vector<spi::renewal_outcome>> done) override;
  void convert(const spi::claim& held, spi::access to, spi::caller from, spi::completion<bool> done) override;
  void raise(const spi::claim& held, fencing_token floor, spi::caller from, spi::completion<bool> done) override;

  void count(const spi::count_request& request, spi::caller from, spi::completion<spi::count_reply> done) override;
  void load_cell(const std::string& name, spi::caller from, spi::completion<spi::cell_value> done) override;
  void exchange_cell(const std::string& name, std::uint64_t expected, std::string value, spi::owner_id id,
                     spi::caller from, spi::completion<bool> done) override;
  void admit(const std::string& name, fencing_token token, spi::caller from,
             spi::completion<fencing_token> done) override;

  void inspect(const std::string& prefix, spi::completion<std::vector<entry>> done) override;
  void evict(const std::string& name, spi::completion<bool> done) override;
  std::function<void()> observe(const std::string& prefix, std::function<void()> changed) override;

 protected:
  static constexpr std::size_t lock_links = 3;
  static constexpr std::size_t reports = lock_links;  // the one of inspect(): what takes long delays no lock

  virtual asking& link(std::size_t index) = 0;  ///< Of lock_links + 1.
  virtual listening& ears() const = 0;
  /// What renews claims, for statements::renew: its answer has a digit for each.
  virtual arguments renewal_arguments(const std::vector<const spi::claim*>& claims) const = 0;
  /// Is it that somebody else keeps a row locked?
  virtual bool row_kept(const failure& why) const = 0;

  void on_message(std::string_view payload);
  void on_gap() { tickets_.wake_all(); }
  /// The first request is to have its last moment too.
  void hear_clock(std::int64_t micros, spi::time_point sent) { clock_.note(micros, sent, engine_.now()); }

  spi::runtime& engine_;

 private:
  struct renewal;
  enum class line : std::uint8_t { stays_out, joins };

  asking& link_for(const std::string& name);
  asking& any_link() { return use(last_link_); }
  asking& use(std::size_t index);
  arguments entry_arguments(const spi::entry_request& request, line how, spi::time_point sent) const;
  void listen_for(const spi::owner_id& id);
  void enter_now(const spi::entry_request& request, line how, spi::completion<spi::entry_result> done);
  void on_entered(spi::entry_request request, line how, const result<rows>& said, spi::time_point sent,
                  spi::completion<spi::entry_result> done);
  result<spi::entry_result> settle(const spi::claim& c, const rows& said, spi::time_point sent);
  spi::busy busy_until(std::int64_t left, std::int64_t ahead) const;
  void renew_some(const std::shared_ptr<renewal>& all, std::vector<std::size_t> which, spi::caller from);
  std::int64_t memory() const;  // for how long an answer is remembered
  std::int64_t last_moment(spi::time_point sent) const;
  void convert_by(std::int64_t last, const spi::claim& held, spi::access to, spi::caller from,
                  spi::completion<bool> done);
  void on_grant(std::string_view letter);
  void give_back(const spi::claim& unwanted);

  const statements say_;
  const bool shares_;  // ShedLock's table
  const std::string holder_;
  std::atomic<std::size_t> last_link_{0};
  const std::shared_ptr<observers> observers_;
  server_clock clock_;
  tickets tickets_;
};

}  // namespace holdfast::sql
