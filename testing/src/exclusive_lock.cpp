#include <holdfast/testing/exclusive_lock.hpp>

#include <holdfast/holdfast.hpp>

#include <array>
#include <stdexcept>
#include <utility>

namespace holdfast::testing {

namespace {

constexpr std::array<std::pair<lock_kind, const char*>, 6> words{{{lock_kind::mutex, "mutex"},
                                                                  {lock_kind::recursive_mutex, "recursive_mutex"},
                                                                  {lock_kind::shared_mutex, "shared_mutex"},
                                                                  {lock_kind::permit_semaphore, "permit_semaphore"},
                                                                  {lock_kind::multi_mutex, "multi_mutex"},
                                                                  {lock_kind::quorum_mutex, "quorum_mutex"}}};

/// Any of the types with both faces.
template <class Lock>
class with_both_faces : public exclusive_lock {
 public:
  template <class... Args>
  explicit with_both_faces(Args&&... args) : lock_(std::forward<Args>(args)...) {}

  lease acquire(acquire_options options, std::stop_token stop) override { return lock_.acquire(options, stop); }
  std::optional<lease> try_acquire(acquire_options options, std::stop_token stop) override {
    return lock_.try_acquire(options, stop);
  }
  operation<lease> async_acquire(acquire_options options, std::stop_token stop) override {
    return lock_.async_acquire(options, stop);
  }
  bool lockable() const override { return true; }
  void lock() override { lock_.lock(); }
  bool try_lock() override { return lock_.try_lock(); }
  bool try_lock_for(std::chrono::nanoseconds wait) override { return lock_.try_lock_for(wait); }
  bool try_lock_until(std::chrono::steady_clock::time_point deadline) override {
    return lock_.try_lock_until(deadline);
  }
  void unlock() noexcept override { lock_.unlock(); }

 private:
  Lock lock_;
};

struct only_member {
  only_member(const client& c, const std::string& name, lock_options options) : member(c, name, options) {}
  mutex member;
};

/// A lock made of mutexes, with one of them. The member is the first base: it must be there first.
template <class Lock>
class of_one_member final : private only_member, public with_both_faces<Lock> {
 public:
  of_one_member(const client& c, const std::string& name, lock_options options)
      : only_member(c, name, options),
        with_both_faces<Lock>(std::vector<std::reference_wrapper<mutex>>{std::ref(only_member::member)}) {}
};

class one_permit final : public exclusive_lock {
 public:
  one_permit(const client& c, const std::string& name, lock_options options) : semaphore_(c, name, 1, options) {}

  lease acquire(acquire_options options, std::stop_token stop) override { return semaphore_.acquire(options, stop); }
  std::optional<lease> try_acquire(acquire_options options, std::stop_token stop) override {
    return semaphore_.try_acquire(options, stop);
  }
  operation<lease> async_acquire(acquire_options options, std::stop_token stop) override {
    return semaphore_.async_acquire(options, stop);
  }
  bool lockable() const override { return false; }
  void lock() override { no_std_face(); }
  bool try_lock() override { no_std_face(); }
  bool try_lock_for(std::chrono::nanoseconds) override { no_std_face(); }
  bool try_lock_until(std::chrono::steady_clock::time_point) override { no_std_face(); }
  void unlock() noexcept override {}

 private:
  [[noreturn]] static void no_std_face() { throw std::logic_error("a semaphore has no std face: ask lockable()"); }

  permit_semaphore semaphore_;
};

}  // namespace

const char* to_string(lock_kind kind) noexcept {
  for (const auto& [known, word] : words) {
    if (known == kind) return word;
  }
  return "unknown";
}

std::optional<lock_kind> lock_kind_of(std::string_view word) noexcept {
  for (const auto& [kind, known] : words) {
    if (word == known) return kind;
  }
  return std::nullopt;
}

std::unique_ptr<exclusive_lock> make_lock(lock_kind kind, const client& c, const std::string& name,
                                          lock_options options) {
  switch (kind) {
    case lock_kind::mutex:
      return std::make_unique<with_both_faces<mutex>>(c, name, options);
    case lock_kind::recursive_mutex:
      return std::make_unique<with_both_faces<recursive_mutex>>(c, name, options);
    case lock_kind::shared_mutex:
      return std::make_unique<with_both_faces<shared_mutex>>(c, name, options);
    case lock_kind::permit_semaphore:
      return std::make_unique<one_permit>(c, name, options);
    case lock_kind::multi_mutex:
      return std::make_unique<of_one_member<multi_mutex>>(c, name, options);
    case lock_kind::quorum_mutex:
      return std::make_unique<of_one_member<quorum_mutex>>(c, name, options);
  }
  throw std::logic_error("no such lock_kind");
}

}  // namespace holdfast::testing
