#include "inspection.hpp"

#include "badge.hpp"
#include "line.hpp"
#include "names.hpp"
#include "zk_error.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <tuple>

namespace holdfast::zookeeper {

bool leads_to(const std::string& root, const std::string& path, const std::string& prefix) {
  if (path == root) return true;
  const auto name = name_of(root, path);
  if (!name) return false;
  return name->starts_with(prefix) || prefix.starts_with(*name + "/");
}

bool is_reserved(const std::string& root, const std::string& parent, const std::string& child) {
  if (parent != root) return false;
  return child == own_directory || (root.empty() && child == servers_directory);
}

namespace {

std::string node_path(const std::string& path) { return path.empty() ? "/" : path; }

bool contains(const std::vector<std::string>& names, std::string_view wanted) {
  return std::find(names.begin(), names.end(), wanted) != names.end();
}

}  // namespace

/// Requests under way are counted; the last answer ends it. Answers come one at a time, but a request that could not be
/// sent is answered elsewhere.
struct inspection::walk {
  std::string prefix;
  spi::completion<std::vector<entry>> done;

  std::mutex mutex;  // guards what follows
  std::size_t under_way = 0;
  int failed = ZOK;
  struct place {
    std::size_t which;
    standing how;
    std::size_t rank;
    participant who;
  };
  std::vector<entry> entries;
  std::vector<place> places;

  void begin() {
    const std::lock_guard lock(mutex);
    ++under_way;
  }
  void end(int code) {
    {
      const std::lock_guard lock(mutex);
      if (outcome_unknown(code) || code == ZNOAUTH) failed = code;
      if (--under_way != 0) return;
    }
    finish();
  }
  void finish();
};

void inspection::walk::finish() {
  if (failed != ZOK) return done(failure_of(failed, "inspecting"));
  std::sort(places.begin(), places.end(), [](const place& a, const place& b) {
    return std::tie(a.rank, a.which, a.who.owner) < std::tie(b.rank, b.which, b.who.owner);
  });
  for (auto& p : places) {
    auto& list = p.how == standing::holds ? entries[p.which].holders : entries[p.which].waiters;
    // A permit each: shown as one holder of several.
    const auto same =
        std::find_if(list.begin(), list.end(), [&](const participant& o) { return o.owner == p.who.owner; });
    if (p.how == standing::holds && same != list.end() && entries[p.which].kind == to_string(spi::kind::permits)) {
      ++same->permits;
      continue;
    }
    if (same == list.end()) list.push_back(std::move(p.who));
  }
  for (auto& one : entries) {
    // On its way from the line to a permit.
    std::erase_if(one.waiters, [&](const participant& w) {
      return std::any_of(one.holders.begin(), one.holders.end(), [&](const auto& h) { return h.owner == w.owner; });
    });
  }
  std::erase_if(entries, [](const entry& e) { return e.holders.empty() && e.waiters.empty(); });
  done(std::move(entries));
}

void inspection::inspect(const std::string& prefix, spi::completion<std::vector<entry>> done) {
  const auto w = std::make_shared<walk>();
  w->prefix = prefix;
  w->done = std::move(done);
  visit(w, store_.where().root);
}

void inspection::visit(const walk_ptr& w, const std::string& path) {
  w->begin();
  store_.children(node_path(path), watching::no, [this, w, path](int code, const std::vector<std::string>& names) {
    const auto& root = store_.where().root;
    const bool semaphore = contains(names, "leases") && path != root;
    for (const auto& child : names) {
      if (contender::parse(child) || is_reserved(root, path, child)) continue;
      if (semaphore && (child == "leases" || child == "locks")) continue;
      if (leads_to(root, path + "/" + child, w->prefix)) visit(w, path + "/" + child);
    }
    const auto name = name_of(root, path);
    if (name && name->starts_with(w->prefix)) {
      describe(w, path, names);
      if (semaphore) describe_permits(w, path);
    }
    w->end(code);
  });
}

void inspection::describe(const walk_ptr& w, const std::string& path, const std::vector<std::string>& names) {
  for (const auto kind : {family::lock, family::read_write}) {
    const auto line = line_of(names, kind);
    if (line.empty()) continue;
    std::size_t which = 0;
    {
      const std::lock_guard lock(w->mutex);
      which = w->entries.size();
      w->entries.push_back({*name_of(store_.where().root, path), to_string(kind), {}, {}});
    }
    const auto inside = holding(line);
    for (std::size_t i = 0; i < line.size(); ++i)
      add(w, which, i < inside ? standing::holds : standing::waits, path + "/" + line[i].name);
  }
}

void inspection::describe_permits(const walk_ptr& w, const std::string& path) {
  std::size_t which = 0;
  {
    const std::lock_guard lock(w->mutex);
    which = w->entries.size();
    w->entries.push_back({*name_of(store_.where().root, path), to_string(spi::kind::permits), {}, {}});
  }
  const auto list = [&](const std::string& directory, family kind, standing how) {
    w->begin();
    store_.children(directory, watching::no,
                    [this, w, which, directory, kind, how](int code, const std::vector<std::string>& names) {
                      for (const auto& one : line_of(names, kind)) add(w, which, how, directory + "/" + one.name);
                      w->end(code);
                    });
  };
  // The line before the leases: who moves on between the two is seen twice, not missed.
  list(path + "/locks", family::lock, standing::waits);
  list(path + "/leases", family::lease, standing::holds);
}

void inspection::add(const walk_ptr& w, std::size_t which, standing how, const std::string& node) {
  std::size_t rank = 0;
  {
    const std::lock_guard lock(w->mutex);
    ++w->under_way;
    rank = w->under_way + w->places.size() + 1;
  }
  store_.get(node, watching::no, [w, which, how, node, rank](int code, const std::string& value, const ::Stat& stat) {
    if (code == ZOK || code == ZNOAUTH) {
      const std::string_view name = std::string_view(node).substr(node.rfind('/') + 1);
      const auto self = contender::parse(name);
      const auto id = owner_in(name);
      const badge worn = badge::read(value);
      const bool holds = how == standing::holds;
      participant who;
      who.owner = id ? id->hex() : std::string(name);
      if (holds) who.token = fencing_token(static_cast<std::uint64_t>(stat.czxid));
      who.host = worn.host;
      who.pid = worn.pid;
      who.client_name = worn.client_name;
      who.since = std::chrono::system_clock::time_point(std::chrono::milliseconds(stat.ctime));
      if (holds) who.remaining = worn.ttl;
      who.shared = self && self->kind == family::read_write && self->access == spi::access::shared;
      who.permits = holds ? 1 : worn.permits;
      const std::lock_guard lock(w->mutex);
      w->places.push_back({which, how, rank, std::move(who)});
    }
    w->end(code == ZNOAUTH ? ZOK : code);
  });
}

void inspection::evict(const std::string& name, spi::completion<bool> done) {
  const std::string path = path_of(store_.where().root, name);
  struct removal {
    spi::completion<bool> done;
    std::atomic<std::size_t> left = 2;
    std::atomic<bool> any = false;
    std::atomic<int> failed = ZOK;
    void note(int code) {
      if (code == ZOK) any = true;
      if (code != ZOK && code != ZNONODE) failed = code;
      if (--left != 0) return;
      if (failed != ZOK) return done(failure_of(failed, "evicting"));
      done(any.load());
    }
  };
  const auto all = std::make_shared<removal>();
  all->done = std::move(done);
  const auto remove = [this, all](const std::string& directory, const std::vector<contender>& line, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      ++all->left;
      store_.remove(directory + "/" + line[i].name, -1, [all](int code) { all->note(code); });
    }
  };
  store_.children(path, watching::no, [all, path, remove](int code, const std::vector<std::string>& names) {
    for (const auto kind : {family::lock, family::read_write}) {
      const auto line = line_of(names, kind);
      remove(path, line, holding(line));
    }
    all->note(code == ZOK ? ZNONODE : code);
  });
  const std::string leases = path + "/leases";
  store_.children(leases, watching::no, [all, leases, remove](int code, const std::vector<std::string>& names) {
    const auto line = line_of(names, family::lease);
    remove(leases, line, line.size());
    all->note(code == ZOK ? ZNONODE : code);
  });
}

}  // namespace holdfast::zookeeper
