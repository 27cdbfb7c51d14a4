#include "observers.hpp"

#include "inspection.hpp"
#include "line.hpp"

#include <algorithm>

namespace holdfast::zookeeper {

std::function<void()> observers::add(const std::string& prefix, std::function<void()> changed) {
  const auto who = std::make_shared<observer>();
  who->prefix = prefix;
  who->changed = std::move(changed);
  {
    const std::lock_guard lock(mutex_);
    all_.push_back(who);
  }
  visit(who, store_.where().root);
  return [this, who] {
    {
      const std::lock_guard lock(mutex_);
      std::erase(all_, who);
    }
    const std::lock_guard lock(who->calling);
    who->ended = true;
  };
}

void observers::visit(const observer_ptr& who, const std::string& path) {
  {
    const std::lock_guard lock(mutex_);
    if (std::find(all_.begin(), all_.end(), who) == all_.end()) return;
    if (!who->watched.insert(path).second) return;
  }
  const auto& root = store_.where().root;
  const std::string node = path.empty() ? "/" : path;
  store_.children(node, watching::yes, [this, who, path, &root](int code, const std::vector<std::string>& names) {
    if (code != ZOK) {
      {
        const std::lock_guard lock(mutex_);
        who->watched.erase(path);
      }
      // Of the root we hear when it is made; unless that was just now.
      if (code == ZNONODE && path == root)
        store_.exists(path, watching::yes, [this, who, path](int there, const ::Stat&) {
          if (there == ZOK) visit(who, path);
        });
      return;
    }
    for (const auto& child : names) {
      if (contender::parse(child) || is_reserved(root, path, child)) continue;
      if (leads_to(root, path + "/" + child, who->prefix)) visit(who, path + "/" + child);
    }
    // What came between the last look and this watch.
    tell(*who);
  });
}

void observers::tell(observer& who) {
  const std::lock_guard lock(who.calling);
  if (!who.ended) who.changed();
}

void observers::on_change(change, const std::string& path) {
  const std::string kept = path == "/" ? std::string() : path;
  std::vector<observer_ptr> told;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& one : all_)
      if (one->watched.erase(kept) != 0 || kept == store_.where().root) told.push_back(one);
  }
  for (const auto& one : told) {
    visit(one, kept);
    tell(*one);
  }
}

void observers::look_everywhere() {
  std::vector<observer_ptr> all;
  {
    const std::lock_guard lock(mutex_);
    all = all_;
    for (const auto& one : all) one->watched.clear();
  }
  for (const auto& one : all) {
    visit(one, store_.where().root);
    tell(*one);
  }
}

}  // namespace holdfast::zookeeper
