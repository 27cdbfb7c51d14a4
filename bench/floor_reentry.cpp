#include "floor_reentry.hpp"

#include <mutex>

namespace holdfast::bench {

namespace {

class recursive_mutex_contender final : public contender {
 public:
  recursive_mutex_contender() { mutex_.lock(); }
  ~recursive_mutex_contender() override { mutex_.unlock(); }

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
  std::recursive_mutex mutex_;
};

class reentry_subject final : public subject {
 public:
  std::unique_ptr<contender> enlist(const assignment&) override {
    return std::make_unique<recursive_mutex_contender>();
  }
};

}  // namespace

std::unique_ptr<subject> open_reentry_floor() { return std::make_unique<reentry_subject>(); }

}  // namespace holdfast::bench
