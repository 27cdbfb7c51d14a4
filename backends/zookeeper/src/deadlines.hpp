#pragma once

#include <holdfast/backend.hpp>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

namespace holdfast::zookeeper {

/// Sees to it that every answer comes within request_timeout: the client library waits for as long as it takes to
/// find the connection broken.
///
/// Thread safety: safe.
class deadlines : public std::enable_shared_from_this<deadlines> {
 public:
  explicit deadlines(spi::runtime& engine) : engine_(engine) {}

  /// What is returned may be called once; later than the deadline, it does nothing.
  template <class T>
  spi::completion<T> guard(spi::completion<T> done) {
    auto one = std::make_shared<question<T>>(engine_.now() + engine_.options().request_timeout, std::move(done));
    add(one);
    return [one = std::move(one)](result<T> answer) { one->finish(std::move(answer)); };
  }

 private:
  struct asked {
    explicit asked(spi::time_point when) : until(when) {}
    asked(const asked&) = delete;
    asked& operator=(const asked&) = delete;
    virtual ~asked() = default;
    virtual void expire() = 0;
    const spi::time_point until;
    std::atomic<bool> over{false};
  };
  template <class T>
  struct question final : asked {
    question(spi::time_point when, spi::completion<T> d) : asked(when), done(std::move(d)) {}
    void finish(result<T> answer) {
      if (over.exchange(true)) return;
      auto told = std::move(done);
      told(std::move(answer));
    }
    void expire() override { finish(failure{errc::unavailable, "ZooKeeper did not answer in time"}); }
    spi::completion<T> done;
  };

  void add(std::shared_ptr<asked> one);
  void arm();
  void look();

  spi::runtime& engine_;
  std::mutex mutex_;  // guards what follows
  // All have the same time to go: the first is the next to expire.
  std::deque<std::shared_ptr<asked>> open_;
  bool armed_ = false;
};

}  // namespace holdfast::zookeeper
