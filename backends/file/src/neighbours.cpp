#include "neighbours.hpp"

#include "eviction.hpp"
#include "file_backend.hpp"
#include "inspection.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

namespace holdfast::file::neighbours {
namespace {

struct clients {
  std::mutex mutex;
  std::vector<file_backend*> all;
};

clients& here() {
  static auto& instance = *new clients;
  return instance;
}

failure held_elsewhere(const std::string& name, const participant& holder) {
  if (holder.pid == 0) return {errc::unsupported, "'" + name + "' is held by another process; only its end frees it"};
  const std::string pid = std::to_string(holder.pid);
  return {errc::unsupported, "'" + name + "' is held by process " + pid + " on " + holder.host +
                                 "; a kernel lock ends only with its process: stop that one (kill " + pid + ")"};
}

}  // namespace

void add(file_backend* client) {
  std::lock_guard lock(here().mutex);
  here().all.push_back(client);
}

void remove(file_backend* client) {
  std::lock_guard lock(here().mutex);
  std::erase(here().all, client);
}

result<bool> evict(const directory& where, const std::string& name) {
  std::lock_guard lock(here().mutex);
  std::vector<file_backend*> sharing;
  std::vector<std::string> ours;
  for (file_backend* client : here().all) {
    if (client->where().id() != where.id()) continue;
    sharing.push_back(client);
    for (const spi::owner_id& id : client->held_here(name)) ours.push_back(id.hex());
  }
  const auto held = look_at(where, name);
  if (!held || held->holders.empty()) return false;
  const auto other = std::find_if(held->holders.begin(), held->holders.end(), [&](const participant& holder) {
    return std::find(ours.begin(), ours.end(), holder.owner) == ours.end();
  });
  if (other != held->holders.end()) {
    if (where.is_remote()) return held_elsewhere(name, *other);
    const auto replaced = replace_lock_file(where, name);
    if (!replaced || !*replaced) return replaced;
  }
  for (file_backend* client : sharing) client->evict_own(name);
  return true;
}

}  // namespace holdfast::file::neighbours
