#include "peers.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

namespace holdfast::sqlite_tests {

using sqlite::peer;
using sqlite::process;

/// A child that has ended and that nobody has reaped.
process ended_child() {
  process child = process::self();
  child.pid = ::fork();
  if (child.pid == 0) ::_exit(0);
  siginfo_t end{};
  EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid), &end, WEXITED | WNOWAIT), 0);
  child.start = sqlite::start_time(child.pid).value();
  return child;
}

TEST(peers, one_that_is_reaped_in_the_midst_of_a_look_is_not_taken_for_alive) {
  const process self = process::self();
  for (int i = 0; i < 2000; ++i) {
    const process child = ended_child();
    std::atomic<bool> looking{false};
    std::thread reaper([&] {
      while (!looking) continue;
      ::waitpid(child.pid, nullptr, 0);
    });
    looking = true;
    const auto found = peer::find(1, child, self);
    reaper.join();
    ASSERT_TRUE(!found || found->dead()) << "at attempt " << i;
  }
}

}  // namespace holdfast::sqlite_tests
