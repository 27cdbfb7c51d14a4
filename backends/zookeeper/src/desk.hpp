#pragma once

#include "line.hpp"
#include "seat.hpp"
#include "session.hpp"

#include <holdfast/backend.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace holdfast::zookeeper {

/// Mutexes, shared mutexes and permits: our nodes in the lines, in Curator's layout, and what we hear of them.
///
/// Thread safety: safe. Completions and the runtime are called with nothing locked.
class desk {
 public:
  desk(session& store, spi::runtime& engine) : store_(store), engine_(engine) {}

  void enter(const spi::entry_request& request, spi::completion<spi::entry_result> done);
  void watch(const spi::claim& queued, spi::completion<spi::wake> done);
  void leave(const spi::claim& ours, spi::completion<bool> done);
  void renew(const std::vector<spi::claim>& held, spi::completion<std::vector<spi::renewal_outcome>> done);
  void convert(const spi::claim& held, spi::access to, spi::completion<bool> done);

  void on_connected();
  void on_suspended();
  void on_ended();
  void on_change(change what, const std::string& path);

 private:
  using seat_ptr = std::shared_ptr<seat>;
  using trip_ptr = std::shared_ptr<trip>;

  /// The desk, locked. What is put off is done when it is unlocked: completions may come right back.
  class turn {
   public:
    explicit turn(desk& d) : lock_(d.mutex_) {}
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() {
      lock_.unlock();
      for (auto& task : later_) task();
    }
    void after(detail::unique_function<void()> task) { later_.push_back(std::move(task)); }

   private:
    std::unique_lock<std::mutex> lock_;
    std::vector<detail::unique_function<void()>> later_;
  };
  struct hash {
    std::size_t operator()(const spi::owner_id& id) const noexcept;
  };
  /// Nodes of ours that must go although the connection did not.
  struct grave {
    std::string path;  ///< The node, or with an id all of that id below it.
    spi::owner_id id;
    std::uint64_t generation = 0;
    std::function<void(int code)> told;  ///< Who waits to hear that it is gone; may be nobody.
  };

  // Entering: desk_enter.cpp.
  seat_ptr seat_for(const spi::entry_request& request);
  void go(turn& t, const trip_ptr& way);
  void send_create(const trip_ptr& way);
  void send_lists(const trip_ptr& way);
  void make_parents(const std::string& path);
  void clear_then_go(const trip_ptr& way);
  session::on_names note(const trip_ptr& way, trip::listing trip::* into);
  void on_line(const trip_ptr& way);
  bool was_read(turn& t, const trip_ptr& way);
  bool was_created(turn& t, const trip_ptr& way);
  void again(turn& t, const trip_ptr& way);
  void remove_strays(const seat& s, const std::string& place, const std::vector<std::string>& names);
  void rule_out_permits(const trip_ptr& way);
  void on_permits_read(const trip_ptr& way);
  void grant(turn& t, const trip_ptr& way);
  void wait_in_line(turn& t, const trip_ptr& way, const verdict& found);
  void refuse(turn& t, const trip_ptr& way, failure why);
  void turn_away(turn& t, const trip_ptr& way);
  spi::time_point lasts_until(const spi::claim& c, spi::time_point sent) const;

  // Permits: desk_permits.cpp.
  void look_for_room(turn& t, const trip_ptr& way);
  void check_limit(const trip_ptr& way, const std::string& lease);
  void with_room(turn& t, const trip_ptr& way);
  void take_leases(turn& t, const trip_ptr& way);
  void on_leased(const trip_ptr& way, const std::vector<int>& codes, std::vector<std::string> paths,
                 std::int64_t token);

  // Hearing: desk_hear.cpp.
  void listen_to(const seat_ptr& s, const std::string& path);
  void unlisten(const seat& s, const std::string& path);
  void wait_for(seat& s, const std::string& path);
  void watch_node(const seat_ptr& s, const std::string& path);
  void watch_own(const seat_ptr& s);
  void on_own_seen(const seat_ptr& s, const std::string& path, int code, const std::string& value, const ::Stat& stat);
  void on_own_change(turn& t, const seat_ptr& s, change what);
  void on_predecessor(turn& t, const seat_ptr& s, change what);
  void wake(turn& t, seat& s, spi::wake why);
  void lose(turn& t, const seat_ptr& s, loss cause);
  void schedule(spi::time_point when);
  void tend();
  void beat();
  std::chrono::nanoseconds pulse() const noexcept { return store_.timeout() / 8; }

  // Leaving: desk_leave.cpp.
  seat_ptr find(const spi::owner_id& id) const;
  bool present(const seat_ptr& s) const { return find(s->claim.id) == s; }
  void drop(const seat_ptr& s);
  void forget_nodes(seat& s);
  static bool owns(const seat& s, const std::string& path);
  void remove_nodes(turn& t, const seat_ptr& s, spi::completion<bool> done);
  void sweep(const seat_ptr& s, spi::completion<bool> done);
  void bury(const seat& s);
  void rest(grave g);
  void dig_all(turn& t);
  void dig(const grave& g);
  bool in_use(const std::string& path) const;
  void list_agreed(const std::string& place, session::on_names done);
  struct renewing;
  void renew_each(turn& t, const std::shared_ptr<renewing>& all,
                  const std::vector<std::pair<std::size_t, seat_ptr>>& here);

  // Changing sides: desk_convert.cpp.
  void change_side(const seat_ptr& s, spi::access to, spi::completion<bool> done);
  void confirm_side(const seat_ptr& s, spi::access to, spi::completion<bool> done);
  void turn_round(turn& t, const seat_ptr& s);
  static bool may_have_turned(const seat& s);
  void look_on_other_side(const seat_ptr& s);
  void downgrade(const seat_ptr& s, spi::completion<bool> done);
  void upgrade(const seat_ptr& s, spi::completion<bool> done);
  void on_upgrade_seen(const seat_ptr& s, const std::string& writer, int made, int code,
                       const std::vector<std::string>& names, spi::completion<bool> done);
  void rename(turn& t, const seat_ptr& s, const std::string& node, spi::access to);

  session& store_;
  spi::runtime& engine_;

  mutable std::mutex mutex_;  // guards what follows
  std::unordered_map<spi::owner_id, seat_ptr, hash> seats_;
  std::unordered_multimap<std::string, spi::owner_id> interests_;  // by the path that was or will be watched
  std::vector<seat_ptr> unwatched_;                                // held, and we would not hear of the end
  std::vector<grave> graves_;
  std::unordered_set<std::string> going_;  // paths whose removal is under way
  spi::time_point next_look_ = spi::time_point::max();
  bool beating_ = false;
  bool warned_of_overflow_ = false;
};

}  // namespace holdfast::zookeeper
