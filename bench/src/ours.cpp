#include "ours.hpp"

#include <holdfast/holdfast.hpp>

#include <optional>
#include <utility>

namespace holdfast::bench {

namespace {

/// The lease face: it has the token, and the answer of release().
class mutex_contender final : public contender {
 public:
  mutex_contender(client c, const std::string& name, lock_options options) : mutex_(std::move(c), name, options) {}

  std::uint64_t acquire() override {
    held_.emplace(mutex_.acquire());
    return held_->token().value();
  }
  void release() override {
    held_->release().value();
    held_.reset();
  }
  void pairs(std::uint64_t count) override {
    for (; count > 0; --count) mutex_.acquire().release().value();
  }

 private:
  mutex mutex_;
  std::optional<lease> held_;
};

/// The std face, beside std::recursive_mutex.
class reentry_contender final : public contender {
 public:
  reentry_contender(client c, const std::string& name) : mutex_(std::move(c), name) { mutex_.lock(); }
  ~reentry_contender() override { mutex_.unlock(); }

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
  recursive_mutex mutex_;
};

class client_subject final : public subject {
 public:
  explicit client_subject(const std::string& url) : client_(connect(url, {.name = "holdfast-bench"})) {}

  std::unique_ptr<contender> enlist(const assignment& what) override {
    if (what.what == workload::reentry) return std::make_unique<reentry_contender>(client_, what.lock);
    const auto order = what.what == workload::fair ? ordering::fifo : ordering::any;
    return std::make_unique<mutex_contender>(client_, what.lock, lock_options{.order = order});
  }

 private:
  client client_;
};

}  // namespace

std::unique_ptr<subject> open_ours(const std::string& url) { return std::make_unique<client_subject>(url); }

}  // namespace holdfast::bench
