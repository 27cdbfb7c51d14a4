#include "store.hpp"

#include <algorithm>
#include <map>

namespace holdfast::sqlite {

namespace {

/// Leases are counted on a clock without a date; the date is that of now, less how long ago it was.
std::chrono::system_clock::time_point date_of(instant since, instant now) {
  const std::chrono::nanoseconds ago(now - since);
  return std::chrono::system_clock::now() - std::chrono::duration_cast<std::chrono::system_clock::duration>(ago);
}

}  // namespace

entry store::describe(const std::string& name, const lock_row& row, instant now, spi::time_point& soonest,
                      std::vector<std::shared_ptr<peer>>& participants) {
  entry shown{name, to_string(row.kind), {}, {}};
  const auto show = [&](const spi::owner_id& id, session_id whose, instant since) {
    const auto client = clients_.describe(whose);
    participant p;
    p.owner = id.hex();
    p.host = client.host;
    p.pid = client.pid;
    p.client_name = client.name;
    p.since = date_of(since, now);
    if (auto who = clients_.neighbour(whose)) participants.push_back(std::move(who));
    return p;
  };
  const auto show_holder = [&](const hold_row& h, bool shared) {
    participant p = show(h.owner, h.session, h.since);
    p.token = static_cast<std::uint64_t>(h.token);
    p.remaining = std::chrono::nanoseconds(std::max<std::int64_t>(h.expires - now, 0));
    p.shared = shared;
    p.permits = h.permits;
    soonest = std::min(soonest, to_time(h.expires));
    shown.holders.push_back(std::move(p));
  };
  if (row.owner) show_holder({*row.owner, row.token, row.tokens, 1, row.expires, row.since, row.session}, false);
  if (row.shares != 0) {
    for (const hold_row& h : table_.holds(name)) show_holder(h, row.kind == spi::kind::shared_mutex);
  }
  if (!row.awaited) return shown;
  for (const ticket_row& t : table_.tickets(name)) {
    participant p = show(t.owner, t.session, t.since);
    p.shared = t.access == spi::access::shared;
    p.permits = t.permits;
    shown.waiters.push_back(std::move(p));
  }
  return shown;
}

result<std::vector<entry>> store::inspect(const std::string& prefix) {
  // First the dead and the ended go, if there are any: who is shown is there.
  auto untidy = transact_.read([&] {
    auto names = table_.used_names(prefix);
    std::erase_if(names, [&](const std::string& name) { return locks_.tidy_enough(name, now()); });
    return names;
  });
  if (!untidy) return untidy.error();
  if (!untidy->empty()) {
    outbox letters;
    auto tidied = transact_.write([&] {
      for (const auto& name : *untidy) locks_.tidy(name, now(), letters);
      return true;
    });
    if (!tidied) return tidied.error();
    after_commit(letters);
  }
  auto soonest = spi::time_point::max();
  std::vector<std::shared_ptr<peer>> participants;
  auto found = transact_.read([&] {
    std::vector<entry> all;
    const instant at = now();
    for (const auto& name : table_.used_names(prefix)) {
      const auto row = table_.find(name);
      if (!row) continue;
      entry found_one = describe(name, *row, at, soonest, participants);
      if (!found_one.holders.empty() || !found_one.waiters.empty()) all.push_back(std::move(found_one));
    }
    return all;
  });
  if (found && observers_->any()) {
    for (const auto& who : participants) met_.watch(who);
    observers_->saw(soonest, std::move(participants));
  }
  return found;
}

}  // namespace holdfast::sqlite
