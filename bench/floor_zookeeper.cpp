#include "floor.hpp"

#include <holdfast/uri.hpp>

#ifndef THREADED
#define THREADED  // the calls that wait
#endif
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;

void say_nothing(const char*) {}

void check(int code, const char* what) {
  if (code != ZOK) throw std::runtime_error(std::string("zookeeper floor: ") + what + ": " + zerror(code));
}

/// A session of the client library, waited for, and a node for all floors.
class session {
 public:
  explicit session(const uri& where) {
    std::string servers;
    for (const auto& one : where.hosts)
      servers += (servers.empty() ? "" : ",") + one.host + ":" + std::to_string(one.port.value_or(2181));
    handle_ = zookeeper_init2(servers.c_str(), &session::event, 30000, nullptr, this, 0, &say_nothing);
    std::unique_lock lock(mutex_);
    if (handle_ == nullptr || !changed_.wait_for(lock, 10s, [&] { return connected_; }))
      throw std::runtime_error("zookeeper floor: no connection to " + servers);
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session() { zookeeper_close(handle_); }

  zhandle_t* handle() const noexcept { return handle_; }

  /// Made whether it is there or not.
  void make(const std::string& path) const {
    zoo_create(handle_, path.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, nullptr, 0);
  }
  std::string create(const std::string& path, int flags) const {
    std::array<char, 512> made{};
    check(zoo_create(handle_, path.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, flags, made.data(), made.size()), "create");
    return made.data();
  }
  void remove(const std::string& path) const { check(zoo_delete(handle_, path.c_str(), -1), "delete"); }

  void wait_for_deletion() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return deletions_ > 0; });
    --deletions_;
  }

 private:
  static void event(zhandle_t*, int type, int state, const char*, void* context) {
    auto& self = *static_cast<session*>(context);
    const std::lock_guard lock(self.mutex_);
    if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE) self.connected_ = true;
    if (type == ZOO_DELETED_EVENT) ++self.deletions_;
    self.changed_.notify_all();
  }

  zhandle_t* handle_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool connected_ = false;
  int deletions_ = 0;
};

/// One node for a lock's name.
std::string node_of(std::string lock) {
  std::replace(lock.begin(), lock.end(), '/', '_');
  return "/floor-" + lock;
}

template <class Self>
void repeat(Self& self, std::uint64_t count) {
  for (; count > 0; --count) {
    self.acquire();
    self.release();
  }
}

class alone final : public contender {
 public:
  alone(const uri& where, const std::string& lock) : wire_(where), node_(node_of(lock)) {}
  std::uint64_t acquire() override {
    wire_.create(node_, ZOO_EPHEMERAL);
    return 0;
  }
  void release() override { wire_.remove(node_); }
  void pairs(std::uint64_t count) override { repeat(*this, count); }

 private:
  session wire_;
  std::string node_;
};

/// The recipe of ZooKeeper's documentation: a line of sequential nodes, each watched by the next.
class queueing final : public contender {
 public:
  queueing(const uri& where, const std::string& lock) : wire_(where), parent_(node_of(lock)) { wire_.make(parent_); }
  // The last one to go leaves nothing behind.
  ~queueing() override { zoo_delete(wire_.handle(), parent_.c_str(), -1); }

  std::uint64_t acquire() override {
    node_ = wire_.create(parent_ + "/n-", ZOO_EPHEMERAL_SEQUENTIAL);
    const std::string own = node_.substr(parent_.size() + 1);
    for (;;) {
      String_vector found{0, nullptr};
      check(zoo_get_children(wire_.handle(), parent_.c_str(), 0, &found), "getChildren");
      std::vector<std::string> line(found.data, found.data + found.count);
      deallocate_String_vector(&found);
      std::sort(line.begin(), line.end());
      if (line.front() == own) return 0;
      const std::string before = parent_ + "/" + *(std::find(line.begin(), line.end(), own) - 1);
      Stat stat{};
      if (zoo_exists(wire_.handle(), before.c_str(), 1, &stat) == ZOK) wire_.wait_for_deletion();
    }
  }
  void release() override { wire_.remove(node_); }
  void pairs(std::uint64_t count) override { repeat(*this, count); }

 private:
  session wire_;
  std::string parent_;
  std::string node_;
};

class zookeeper_subject final : public subject {
 public:
  explicit zookeeper_subject(const std::string& url) : where_(*uri::parse(url)) {}
  std::unique_ptr<contender> enlist(const assignment& what) override {
    if (what.what == workload::uncontended || what.what == workload::many)
      return std::make_unique<alone>(where_, what.lock);
    return std::make_unique<queueing>(where_, what.lock);
  }

 private:
  const uri where_;
};

class zookeeper_floor final : public store_floor {
 public:
  std::optional<floor_design> design(workload what) const override {
    switch (what) {
      case workload::uncontended:
        return floor_design{floor_design::crew::same, "create and delete, 1 session"};
      case workload::many:
        return floor_design{floor_design::crew::one_worker, "create and delete, 1 session"};
      case workload::handover:
      case workload::processes:
      case workload::fair:
        return floor_design{floor_design::crew::same, "a line of sequential nodes, a session each"};
      default:
        return std::nullopt;
    }
  }
  std::unique_ptr<subject> open(const std::string& url, const std::string&) const override {
    return std::make_unique<zookeeper_subject>(url);
  }
};

}  // namespace

}  // namespace holdfast::bench

extern "C" __attribute__((visibility("default"))) const holdfast::bench::store_floor* holdfast_floor_zookeeper() {
  static const holdfast::bench::zookeeper_floor floor;
  return &floor;
}
