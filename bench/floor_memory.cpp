#include "floor.hpp"

#include <map>
#include <mutex>

namespace holdfast::bench {

namespace {

class timed_mutex_contender final : public contender {
 public:
  explicit timed_mutex_contender(std::timed_mutex& mutex) : mutex_(mutex) {}

  std::uint64_t acquire() override {
    mutex_.lock();
    return 0;
  }
  void release() override { mutex_.unlock(); }
  void pairs(std::uint64_t count) override {
    for (; count > 0; --count) {
      mutex_.lock();
      mutex_.unlock();
    }
  }

 private:
  std::timed_mutex& mutex_;
};

class memory_subject final : public subject {
 public:
  std::unique_ptr<contender> enlist(const assignment& what) override {
    std::lock_guard lock(mutex_);
    return std::make_unique<timed_mutex_contender>(locks_[what.lock]);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::timed_mutex> locks_;  // a map: its elements stay where they are
};

/// std::timed_mutex: what one process has without any library.
class memory_floor final : public store_floor {
 public:
  std::optional<floor_design> design(workload what) const override {
    switch (what) {
      case workload::uncontended:
      case workload::many:
      case workload::handover:
        return floor_design{floor_design::crew::same, "std::timed_mutex"};
      default:
        return std::nullopt;
    }
  }
  std::unique_ptr<subject> open(const std::string&, const std::string&) const override {
    return std::make_unique<memory_subject>();
  }
};

}  // namespace

}  // namespace holdfast::bench

const holdfast::bench::store_floor* holdfast_floor_memory() {
  static const holdfast::bench::memory_floor floor;
  return &floor;
}
