#include "store_file.hpp"

#include "lock_bytes.hpp"

#include <holdfast/testing/temporary_directory.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

namespace holdfast::file {
namespace {

class store_file : public ::testing::Test {
 protected:
  store_file()
      : directory(::open(where.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
        fd(::open((where.path() / "f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {}
  ~store_file() override {
    ::close(fd);
    ::close(directory);
  }

  static boot_id boot(int number) {
    boot_id id{};
    id[0] = static_cast<char>('A' + number % 26);
    id[1] = static_cast<char>('A' + number / 26);
    return id;
  }
  result<store_state> join(int number, std::chrono::nanoseconds timeout = std::chrono::seconds(5)) {
    return read_or_update_store_file(fd, directory, boot(number), timeout);
  }

  holdfast::testing::temporary_directory where;
  int directory;
  int fd;
};

TEST_F(store_file, every_new_boot_counts_once) {
  const auto first = join(1).value();
  EXPECT_EQ(first.boots, 1u);
  EXPECT_EQ(join(1).value().boots, 1u);
  EXPECT_EQ(join(2).value().boots, 2u);
  EXPECT_EQ(join(1).value().boots, 2u) << "machines that take turns";
  EXPECT_EQ(join(2).value().id, first.id);
  EXPECT_EQ(first.id.size(), 32u);
}

TEST_F(store_file, a_boot_long_gone_counts_again) {
  for (int i = 0; i != 40; ++i) EXPECT_EQ(join(i).value().boots, static_cast<unsigned>(i) + 1);
  EXPECT_EQ(join(39).value().boots, 40u);
  EXPECT_EQ(join(0).value().boots, 41u);
}

TEST_F(store_file, zeros_are_new_and_other_content_is_refused) {
  ASSERT_EQ(::ftruncate(fd, 4096), 0);
  EXPECT_EQ(join(1).value().boots, 1u);
  ASSERT_EQ(::pwrite(fd, "x", 1, 40), 1);
  const auto damaged = join(1);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, errc::rejected);
}

TEST_F(store_file, a_file_somebody_keeps_locked_is_unavailable) {
  const int other = ::open((where.path() / "f").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(try_lock(other, {0, 1}, lock_type::write), 0);
  EXPECT_EQ(join(1, std::chrono::milliseconds(5)).error().code, errc::unavailable);
  ::close(other);
  EXPECT_TRUE(join(1));
}

TEST(this_boot, is_known_here) {
  EXPECT_NE(this_boot(), boot_id{});
  EXPECT_EQ(this_boot(), this_boot());
}

}  // namespace
}  // namespace holdfast::file
