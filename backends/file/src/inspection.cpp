#include "inspection.hpp"

#include "file_name.hpp"
#include "lock_bytes.hpp"
#include "record.hpp"

#include <algorithm>
#include <limits>

namespace holdfast::file {
namespace {

constexpr off_t longest_run = 65536;

participant describe(const std::optional<holder>& who) {
  participant shown;
  if (!who) return shown;
  shown.owner = who->owner.hex();
  shown.token = who->token;
  shown.host = who->host;
  shown.pid = who->pid;
  shown.client_name = who->client_name;
  shown.since = who->since;
  shown.remaining = who->ttl;  // the kernel's lock has no end but its process's
  shown.shared = who->access == spi::access::shared;
  return shown;
}

std::vector<participant> slot_holders(int fd) {
  std::vector<participant> holders;
  const auto add = [&](participant who) {
    // A lease of several permits has a slot for each.
    const auto same = std::find_if(holders.begin(), holders.end(),
                                   [&](const participant& p) { return !p.owner.empty() && p.owner == who.owner; });
    if (same == holders.end()) return holders.push_back(std::move(who));
    ++same->permits;
  };
  for (const found_lock& taken : find_locks(fd, {first_slot, watched_byte.start - first_slot})) {
    // Another program may lock the whole file at once: that is not as many holders.
    const off_t end = std::min(taken.end, taken.start + longest_run);
    for (off_t at = taken.start; at < end; ++at)
      add(describe(read_slot(fd, static_cast<std::uint32_t>(at - first_slot))));
  }
  return holders;
}

/// By their tickets. Who is in keeps its ticket until it leaves, and is not shown again.
std::vector<participant> waiters_beside(int fd, const std::vector<participant>& holders) {
  std::vector<participant> waiters;
  for (const found_lock& ticket : find_locks(fd, {first_ticket, 0})) {
    if (!ticket.exclusive || ticket.end - ticket.start != 1) continue;
    const auto who = read_waiter(fd, static_cast<std::uint64_t>(ticket.start - first_ticket));
    if (!who) continue;
    participant shown = describe(who);
    shown.token = {};
    shown.remaining = {};
    shown.permits = who->permits;
    const bool inside = std::any_of(holders.begin(), holders.end(),
                                    [&](const participant& holder) { return holder.owner == shown.owner; });
    if (!inside) waiters.push_back(std::move(shown));
  }
  return waiters;
}

std::optional<entry> look_at_file(int fd, const std::string& name) {
  entry shown{name, {}, {}, {}};
  int error = 0;
  if (const auto use = find_lock(fd, use_bytes, error)) {
    shown.kind = to_string(kind_of(*use));
    if (use->exclusive) {
      shown.holders.push_back(describe(read_exclusive_holder(fd)));
    } else {
      shown.holders = slot_holders(fd);
    }
  }
  shown.waiters = waiters_beside(fd, shown.holders);
  if (shown.holders.empty() && shown.waiters.empty()) return std::nullopt;
  if (shown.kind.empty()) {
    const auto h = read_header(fd);
    if (h) shown.kind = to_string(h->kind);
  }
  return shown;
}

/// The name inside, of a file whose own was cut.
std::optional<std::string> name_inside(int fd, const std::string& file_name) {
  const auto h = read_header(fd);
  if (!h || h->name_length == 0) return std::nullopt;
  auto name = read_name(fd, *h);
  if (!name || to_file_name(*name) != file_name) return std::nullopt;
  return std::move(*name);
}

}  // namespace

std::optional<entry> look_at(const directory& where, const std::string& name) {
  const auto fd = where.open_file(to_file_name(name), directory::use::looking);
  if (!fd) return std::nullopt;
  return look_at_file(fd->get(), name);
}

result<std::vector<entry>> look_at_all(const directory& where, const std::string& prefix) {
  const auto files = where.file_names();
  if (!files) return files.error();
  std::vector<entry> found;
  for (const std::string& file_name : *files) {
    auto name = to_lock_name(file_name);
    if (name ? !name->starts_with(prefix) : !is_cut(file_name)) continue;
    const auto fd = where.open_file(file_name, directory::use::looking);
    if (!fd) continue;  // removed meanwhile, or none of ours
    if (!name) name = name_inside(fd->get(), file_name);
    if (!name || !name->starts_with(prefix)) continue;
    if (auto held = look_at_file(fd->get(), *name)) found.push_back(std::move(*held));
  }
  std::sort(found.begin(), found.end(), [](const entry& a, const entry& b) { return a.name < b.name; });
  return found;
}

}  // namespace holdfast::file
