#pragma once

#include <holdfast/detail/executor.hpp>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::detail {

/// Runs tasks on up to `most` threads, started when there is work for them and none is idle.
///
/// A task that throws is reported and dropped. Thread safety: safe. The destructor runs what is queued, then joins;
/// destroyed from one of its own tasks, it lets that thread finish by itself.
class thread_pool final : public executor {
 public:
  thread_pool(std::string name, std::size_t most, std::function<void(const char*)> report);
  ~thread_pool() override;

  void post(unique_function<void()> task) override;
  void shut_down() override;

 private:
  struct state;
  static void work(const std::shared_ptr<state>& shared);
  static void run(const state& shared, unique_function<void()>& task);
  void start_thread();  // with the state's mutex held

  const std::uint64_t generation_;
  const std::size_t most_;
  const std::shared_ptr<state> state_;
  std::vector<std::thread> threads_;  // under the state's mutex
};

}  // namespace holdfast::detail
