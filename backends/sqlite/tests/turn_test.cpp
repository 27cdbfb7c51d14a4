#include "turn.hpp"

#include <holdfast/testing/temporary_directory.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mount.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::sqlite_tests {

using namespace std::chrono_literals;
using sqlite::descriptor;
using sqlite::turn;

class turn_test : public ::testing::Test {
 protected:
  descriptor file() const {
    return descriptor(::open((directory_.path() / "turn").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }
  static turn::clock::time_point soon() { return turn::clock::now() + 30s; }

  testing::temporary_directory directory_;
};

TEST_F(turn_test, without_a_file_nobody_gets_it_and_nobody_waits) {
  turn none;
  EXPECT_FALSE(none.take(soon()));
  none.give();
}

TEST_F(turn_test, who_has_waited_long_enough_goes_on_without) {
  turn first(file(), 11);
  turn second(file(), 22);
  ASSERT_TRUE(first.take(soon()));
  EXPECT_FALSE(second.take(turn::clock::now() + 5ms));
  first.give();
  EXPECT_TRUE(second.take(soon()));
}

TEST_F(turn_test, a_turn_that_was_taken_over_is_not_given_by_its_first_owner) {
  turn dead(file(), 11);
  turn heir(file(), 22);
  turn other(file(), 33);
  ASSERT_TRUE(dead.take(soon()));
  heir.take_over();
  dead.give();
  EXPECT_FALSE(other.take(turn::clock::now() + 5ms)) << "the heir still has it";
  heir.give();
  EXPECT_TRUE(other.take(soon()));
}

TEST_F(turn_test, a_file_with_two_names_is_left_alone) {
  ASSERT_TRUE(turn(file(), 11).mapped());
  std::filesystem::create_hard_link(directory_.path() / "turn", directory_.path() / "dear");
  EXPECT_FALSE(turn(file(), 11).mapped());
}

TEST_F(turn_test, on_a_full_disk_nobody_gets_it_and_nobody_dies) {
  const auto mount = directory_.path() / "tiny";
  std::filesystem::create_directory(mount);
  if (::mount("tiny", mount.c_str(), "tmpfs", 0, "size=4k") != 0) GTEST_SKIP() << "mounting needs root";
  {
    std::ofstream(mount / "filler") << std::string(4096, 'x') << std::flush;
    turn none(descriptor(::open((mount / "turn").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)), 11);
    EXPECT_FALSE(none.take(soon()));
  }
  ::umount(mount.c_str());
}

TEST_F(turn_test, who_goes_gives_it) {
  turn next(file(), 22);
  {
    turn first(file(), 11);
    ASSERT_TRUE(first.take(soon()));
  }
  EXPECT_TRUE(next.take(turn::clock::now() + 5ms));
}

TEST_F(turn_test, only_one_at_a_time_has_it) {
  std::atomic<int> inside{0};
  long counted = 0;  // guarded by the turn alone
  constexpr int threads = 8;
  constexpr int rounds = 2000;
  std::vector<std::thread> all;
  for (unsigned i = 0; i < threads; ++i) {
    all.emplace_back([&, i] {
      turn mine(file(), 2 * i + 1);
      for (int round = 0; round < rounds; ++round) {
        while (!mine.take(soon())) {
        }
        EXPECT_EQ(++inside, 1);
        ++counted;
        --inside;
        mine.give();
      }
    });
  }
  for (auto& t : all) t.join();
  EXPECT_EQ(counted, threads * rounds);
}

}  // namespace holdfast::sqlite_tests
