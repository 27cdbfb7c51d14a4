#include "thread_pool.hpp"

#include "fork_generation.hpp"
#include "library_thread.hpp"

#include <exception>
#include <memory>
#include <system_error>

namespace holdfast::detail {

struct thread_pool::state {
  std::string name;
  std::function<void(const char*)> report;

  std::mutex mutex;
  std::condition_variable work_there;
  std::deque<unique_function<void()>> tasks;
  std::size_t idle = 0;
  bool closing = false;
};

thread_pool::thread_pool(std::string name, std::size_t most, std::function<void(const char*)> report)
    : generation_(fork_generation()), most_(most), state_(std::make_shared<state>()) {
  state_->name = std::move(name);
  state_->report = std::move(report);
}

thread_pool::~thread_pool() { shut_down(); }

void thread_pool::post(unique_function<void()> task) {
  if (fork_generation() != generation_) return run(*state_, task);  // a forked child has none of the threads
  std::lock_guard lock(state_->mutex);
  if (state_->closing) return;
  state_->tasks.push_back(std::move(task));
  if (state_->idle < state_->tasks.size() && threads_.size() < most_) start_thread();
  state_->work_there.notify_one();
}

void thread_pool::start_thread() {
  try {
    threads_.emplace_back([shared = state_] { work(shared); });
  } catch (const std::system_error&) {
    // No more threads to be had: those there will come to it, if there are any.
    if (!threads_.empty()) return;
    state_->tasks.pop_back();
    throw;
  }
}

void thread_pool::run(const state& shared, unique_function<void()>& task) {
  try {
    task();
  } catch (const std::exception& e) {
    shared.report(e.what());
  } catch (...) {
    shared.report("an exception that is not a std::exception");
  }
}

void thread_pool::work(const std::shared_ptr<state>& shared) {
  enter_library_thread(shared->name);
  std::unique_lock lock(shared->mutex);
  for (;;) {
    ++shared->idle;
    shared->work_there.wait(lock, [&] { return shared->closing || !shared->tasks.empty(); });
    --shared->idle;
    if (shared->tasks.empty()) return;
    auto task = std::move(shared->tasks.front());
    shared->tasks.pop_front();
    lock.unlock();
    run(*shared, task);
    task = nullptr;
    lock.lock();
  }
}

void thread_pool::shut_down() {
  if (fork_generation() != generation_) {
    // The parent's threads, seen by a forked child: there is nothing to join, and joining would wait for ever.
    new std::vector<std::thread>(std::move(threads_));
    return;
  }
  std::vector<std::thread> threads;
  {
    std::lock_guard lock(state_->mutex);
    state_->closing = true;
    state_->work_there.notify_all();
    threads.swap(threads_);
  }
  for (auto& thread : threads) {
    // The last owner may let go inside a callback: that thread cannot wait for itself, and ends right after.
    if (thread.get_id() == std::this_thread::get_id())
      thread.detach();
    else
      thread.join();
  }
}

}  // namespace holdfast::detail
