#pragma once

#include "session.hpp"

#include <holdfast/backend.hpp>

#include <cstring>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::memory {

/// Watches that ended while the store was locked, to be completed once it is not: a completion may come right back.
class wakeups {
 public:
  void add(spi::completion<spi::wake> watch, spi::wake why) {
    if (watch) ended_.emplace_back(std::move(watch), why);
  }
  void fire() {
    for (auto& [watch, why] : ended_) watch(why);
    ended_.clear();
  }

 private:
  std::vector<std::pair<spi::completion<spi::wake>, spi::wake>> ended_;
};

/// What a claim asks for.
struct wish {
  spi::owner_id id;
  spi::access access = spi::access::exclusive;
  std::uint32_t permits = 1;
  std::uint32_t tokens = 1;
  std::chrono::nanoseconds ttl{0};
};

/// A claim in line.
struct waiter : wish {
  spi::time_point since;
  std::shared_ptr<session> client;
  spi::completion<spi::wake> watch;
};

waiter make_waiter(const spi::entry_request& request, std::shared_ptr<session> client, spi::time_point now);
/// Sets the watch of a claim in line; one that was there before ends.
void set_watch(waiter& queued, spi::completion<spi::wake> watch, wakeups& woken);

/// Ids are random: any eight of their bytes are a hash.
struct owner_hash {
  std::size_t operator()(const spi::owner_id& id) const noexcept {
    std::size_t hash = 0;
    std::memcpy(&hash, id.bytes.data(), sizeof hash);
    return hash;
  }
};

/// Claims in the order they came, found by id without walking the line: ten thousand may stand in it.
class wait_queue {
 public:
  bool empty() const noexcept { return line_.empty(); }
  waiter& front() noexcept { return line_.front(); }
  auto begin() const noexcept { return line_.begin(); }
  auto end() const noexcept { return line_.end(); }

  waiter* find(const spi::owner_id& id) noexcept;
  void push(waiter who);
  waiter pop();
  std::optional<waiter> remove(const spi::owner_id& id);
  /// Drops what a client that goes has in line. False: nothing.
  bool remove_all_of(const session& client);

 private:
  std::list<waiter> line_;
  std::unordered_map<spi::owner_id, std::list<waiter>::iterator, owner_hash> index_;
};

}  // namespace holdfast::memory
