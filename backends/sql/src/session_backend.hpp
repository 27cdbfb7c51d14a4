#pragma once

#include "session.hpp"
#include "tickets.hpp"

#include <holdfast/backend.hpp>

#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::sql {

/// Locks that are held by connections: the server gives them out, in turn, and takes them back when a connection ends.
/// The tables have a record of each beside, for the tokens and for those who look; everything else is the tables' own.
///
/// One session, the first, never waits: it tries, and holds what it gets, many locks at a time where the database can.
/// A claim that is busy and may wait does so at the server, on a session that holds nothing: so no release is ever
/// behind a wait. There is an upper bound of sessions; who finds none waits here, in order, and looks now and then.
///
/// Thread safety: safe.
class session_backend final : public spi::backend {
 public:
  session_backend(spi::runtime& engine, std::unique_ptr<session_store> store);
  ~session_backend() override;

  spi::capabilities supports() const noexcept override { return store_->supports(); }
  std::string identity() const override { return store_->tables().identity(); }

  void enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) override;
  void watch(const spi::claim& queued, spi::completion<spi::wake> done) override;
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
  void examine(spi::completion<std::vector<finding>> done) override;

 private:
  enum class mode : std::uint8_t { tries, waits, looks };

  /// How long a claim without a session waits before it tries again, and one that the server has in line before it
  /// makes sure.
  static constexpr std::chrono::nanoseconds looks_again = std::chrono::milliseconds(100);
  static constexpr std::chrono::nanoseconds makes_sure = std::chrono::seconds(15);

  struct key_use {  // of a key by a session: held, or asked for
    spi::access access = spi::access::exclusive;
    spi::kind kind = spi::kind::mutex;
    std::string name;
    std::uint64_t serial = 0;  // which use it is: a key that was given up may be taken again
    std::size_t holders = 0;   // several readers here may have one hold there; 0: asked for, or being given up
    std::size_t looks = 0;     // readers that are about to join
    bool converting = false;
  };
  struct line {  // a session and what it is used for
    std::shared_ptr<session> over;
    std::chrono::nanoseconds lasts{0};  // the server ends it after so long without a word
    std::map<std::string, key_use> keys;
    spi::time_point used;
    bool first = false;  // never waits
    bool waits = false;  // or is not sure yet that it does not
    bool gone = false;
  };
  using line_ref = std::shared_ptr<line>;
  struct hold {
    spi::claim claim;
    spi::granted grant;
    line_ref on;
    std::string key;
  };
  struct wait {
    spi::entry_request request;
    spi::completion<spi::entry_result> first;  // of enter, until it is answered
    line_ref on;                               // null: none yet
    std::uint64_t serial = 0;                  // of the key there
    spi::time_point since;
    bool noted = false;   // in the tables
    bool trying = false;  // elsewhere meanwhile
    bool blocks = false;  // its caller's thread is in the asking, and stays there
    bool over = false;
    spi::completion<bool> left;  // who gave up on it
  };
  using wait_ref = std::shared_ptr<wait>;
  using guard = std::unique_lock<std::mutex>;
  using outcome_told = detail::unique_function<void(result<spi::entry_result>)>;

  bool ours(const spi::claim& c) const { return store_->by_session(c.kind); }

  // session_backend.cpp
  void try_now(const spi::entry_request& request, spi::completion<spi::entry_result> done);
  void on_tried(const spi::entry_request& request, result<spi::entry_result> said,
                spi::completion<spi::entry_result> done);
  std::optional<result<spi::entry_result>> known(const spi::claim& c, const std::string& key) const;
  std::uint64_t use_key(line& on, const std::string& key, const spi::claim& c);  // with mutex_ held
  void drop(const hold& gone, std::int64_t how, spi::caller from, spi::completion<bool> done);

  // session_holds.cpp
  /// What is left behind by a claim that was not granted, and is to be cleared before anybody is told: the same claim
  /// may come again at once.
  enum class remains : std::uint8_t { nothing, record, hold };
  void ask_hold(const line_ref& on, const spi::entry_request& request, mode how, std::uint64_t serial,
                outcome_told told);
  result<spi::entry_result> settle(const line_ref& on, const spi::claim& c, mode how, std::uint64_t serial,
                                   spi::time_point sent, const result<rows>& said, remains& left);
  void give_back(const line_ref& on, const spi::claim& c, detail::unique_function<void()> done);
  void renew_from(spi::caller from, const std::vector<spi::claim>& claims,
                  spi::completion<std::vector<spi::renewal_outcome>> done);

  // session_waits.cpp
  void begin_wait(const spi::entry_request& request, spi::completion<spi::entry_result> done);
  void place_waits() { place_waits(nullptr, spi::caller::must_not_block); }
  void place_waits(const wait_ref& mine, spi::caller from);
  void ask_wait(const wait_ref& w, spi::caller from);
  void on_waited(const wait_ref& w, result<spi::entry_result> said);
  void on_unwanted(const wait_ref& w, const result<spi::entry_result>& said);
  void confirm(const wait_ref& w);
  void finish(const wait_ref& w, result<spi::entry_result> outcome);
  void on_lasting(const wait_ref& w);
  void leave_wait(const wait_ref& w, guard& lock, spi::completion<bool> done);

  // session_lines.cpp
  void open_line();  // with mutex_ held
  void on_opened(const line_ref& fresh, result<std::shared_ptr<session>> made);
  void end_line(const line_ref& which, const failure& why);
  void on_letter(std::string_view letter);
  void tend();  // with mutex_ held
  void on_time();
  line_ref line_for(const std::string& key, std::chrono::nanoseconds ttl) const;  // with mutex_ held
  line_ref idle_line() const;                                                     // with mutex_ held
  line_ref holder_of(const std::string& key) const;                               // with mutex_ held
  bool room() const { return lines_.size() + opening_ < store_->most_sessions(); }

  // session_inspection.cpp
  void on_evicted(const std::string& name, std::string processes, bool any, spi::completion<bool> done);
  void await_eviction(const std::string& name, std::string processes, spi::time_point until,
                      spi::completion<bool> done);
  void terminate(const std::string& name, std::string processes, bool any, spi::completion<bool> done);

  spi::runtime& engine_;
  const std::unique_ptr<session_store> store_;
  const std::string holder_;
  tickets tickets_;

  mutable std::mutex mutex_;
  std::list<line_ref> lines_;
  std::size_t opening_ = 0;
  std::vector<detail::unique_function<void(const result<void>&)>> wanting_;  // any session at all
  std::map<spi::owner_id, hold> held_;
  std::map<spi::owner_id, wait_ref> waits_;
  std::deque<wait_ref> unplaced_;  // those without a session, in order
  std::uint64_t last_serial_ = 0;
  bool tended_ = false;
};

}  // namespace holdfast::sql
