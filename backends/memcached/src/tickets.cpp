#include "tickets.hpp"

#include "pause.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::memcached {

using namespace std::chrono_literals;

namespace {

constexpr auto note_again = 2s;
constexpr std::size_t last_rank = 400;  // those behind look as seldom as this one

// A named one: g++ 12 warns of temporaries of this type when it instruments for ThreadSanitizer.
void tell(spi::completion<spi::wake>& whom) {
  static const spi::wake again = spi::look_again{};
  whom(again);
}

}  // namespace

std::int64_t note_lifetime(std::chrono::nanoseconds pause) {
  return 2 + std::chrono::ceil<std::chrono::seconds>(note_again + 2 * pause).count();
}

tickets::turn tickets::missed(const spi::claim& c, spi::time_point now) {
  const std::lock_guard lock(mutex_);
  auto [at, fresh] = all_.try_emplace(c.id);
  ticket& t = at->second;
  auto& line = lines_[c.name];
  if (fresh) {
    t.name = c.name;
    t.place = line.insert(line.end(), c.id);
    t.since = std::chrono::system_clock::now();
  }
  std::size_t rank = 0;
  for (auto ahead = t.place; ahead != line.begin() && rank < last_rank; --ahead) ++rank;
  turn out;
  out.pause = pause_before_looking(t.looks++, rank);
  out.since = t.since;
  out.note_due = fresh || now - t.noted >= note_again;
  if (out.note_due) t.noted = now;
  t.woken = false;
  return out;
}

void tickets::watch(const spi::claim& c, spi::completion<spi::wake> done) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(c.id);
    if (found != all_.end() && !std::exchange(found->second.woken, false)) {
      found->second.watch = std::move(done);
      return;
    }
  }
  tell(done);
}

bool tickets::close(const spi::owner_id& id) {
  spi::completion<spi::wake> told;
  std::optional<std::string> next_of;
  {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(id);
    if (found == all_.end()) return false;
    const auto line = lines_.find(found->second.name);
    if (found->second.place == line->second.begin()) next_of = found->second.name;
    line->second.erase(found->second.place);
    if (line->second.empty()) lines_.erase(line);
    told = std::move(found->second.watch);
    all_.erase(found);
  }
  if (told) tell(told);
  // Those behind look seldom, as long as somebody ahead looks often.
  if (next_of) wake(*next_of, 1);
  return true;
}

void tickets::wake(const std::string& name, std::uint32_t count) {
  std::vector<spi::completion<spi::wake>> told;
  {
    const std::lock_guard lock(mutex_);
    const auto line = lines_.find(name);
    if (line == lines_.end()) return;
    for (const auto& id : line->second) {
      if (count-- == 0) break;
      ticket& t = all_.at(id);
      t.looks = 0;
      if (t.watch)
        told.push_back(std::move(t.watch));
      else
        t.woken = true;
      t.watch = nullptr;
    }
  }
  for (auto& one : told) tell(one);
}

}  // namespace holdfast::memcached
