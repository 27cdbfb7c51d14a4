#include "floor.hpp"
#include "raw_redis.hpp"

#include <utility>

namespace holdfast::bench {

namespace {

using namespace raw_redis;

class alone final : public contender {
 public:
  alone(const uri& where, const std::string& lock)
      : lock_(where, where.hosts.front(), "floor:" + lock, random_owner()) {}

  std::uint64_t acquire() override {
    if (!lock_.acquire()) throw std::runtime_error("redis floor: the lock is held");
    return 0;
  }
  void release() override {
    if (!lock_.release()) throw std::runtime_error("redis floor: release of a lock that is not held");
  }
  void pairs(std::uint64_t count) override {
    for (; count > 0; --count) {
      acquire();
      release();
    }
  }

 private:
  single_key lock_;
};

/// One element in a list is the lock: who has popped it holds it. The server lets those who block in in turn.
class passing final : public contender {
 public:
  passing(const uri& where, const std::string& lock)
      : wire_(where, where.hosts.front()), list_("floor:" + lock), made_(list_ + ":made") {
    if (wire_.ask({"SET", made_, "1", "NX", "PX", "600000"})->type != REDIS_REPLY_NIL) release();
  }
  // The last one to go leaves nothing behind: the element is back in the list by then.
  ~passing() override { wire_.ask({"DEL", list_, made_}); }

  std::uint64_t acquire() override {
    wire_.ask({"BLPOP", list_, "0"});
    return 0;
  }
  void release() override { wire_.ask({"RPUSH", list_, "1"}); }
  void pairs(std::uint64_t count) override {
    for (; count > 0; --count) {
      acquire();
      release();
    }
  }

 private:
  connection wire_;
  std::string list_;
  std::string made_;
};

class redis_subject final : public subject {
 public:
  explicit redis_subject(const std::string& url) : where_(parse(url)) {}
  std::unique_ptr<contender> enlist(const assignment& what) override {
    if (what.what == workload::uncontended || what.what == workload::many)
      return std::make_unique<alone>(where_, what.lock);
    return std::make_unique<passing>(where_, what.lock);
  }

 private:
  const uri where_;
};

class redis_floor final : public store_floor {
 public:
  std::optional<floor_design> design(workload what) const override {
    switch (what) {
      case workload::uncontended:
        return floor_design{floor_design::crew::same, "SET NX PX and compare-and-delete, 1 connection"};
      case workload::many:
        return floor_design{floor_design::crew::same, "SET NX PX and compare-and-delete, a connection each"};
      case workload::handover:
      case workload::processes:
      case workload::fair:
        return floor_design{floor_design::crew::same, "BLPOP and RPUSH of one element"};
      default:
        return std::nullopt;
    }
  }
  std::unique_ptr<subject> open(const std::string& url, const std::string&) const override {
    return std::make_unique<redis_subject>(url);
  }
};

}  // namespace

}  // namespace holdfast::bench

extern "C" __attribute__((visibility("default"))) const holdfast::bench::store_floor* holdfast_floor_redis() {
  static const holdfast::bench::redis_floor floor;
  return &floor;
}
