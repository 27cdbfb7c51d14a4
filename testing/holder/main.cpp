#include "session.hpp"

#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

namespace {

/// Commands on their way from the reader of stdin to the thread that runs them.
class inbox {
 public:
  void put(std::string line) {
    std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
    filled_.notify_one();
  }
  std::string take() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return !lines_.empty(); });
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<std::string> lines_;
};

void reply(const std::string& text) {
  const std::string line = text + "\n";
  // One write per reply: whoever reads never sees half a line of a killed process.
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) ::_exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    std::cout << holdfast::testing::help_text;
    return std::strcmp(argv[1], "help") == 0 || std::strcmp(argv[1], "--help") == 0 ? 0 : 64;
  }
  holdfast::testing::session session;
  inbox commands;
  // Commands run on a thread of their own so that `cancel`, and the end of whoever gives them, are heard meanwhile.
  std::jthread worker([&] {
    for (std::string line = commands.take(); line != "exit"; line = commands.take()) reply(session.run(line));
  });
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "cancel") {
      session.cancel();
      continue;
    }
    commands.put(line);
    if (line == "exit") {
      worker.join();
      return 0;
    }
  }
  ::_exit(0);  // The test is gone; a wait under way must not keep this process.
}
