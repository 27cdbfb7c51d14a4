#include "file_fixture.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

namespace holdfast::file_tests {
namespace {

namespace fs = std::filesystem;

class file_bad_days : public file_store {
 protected:
  void expect_refused(const std::string& store, errc code, const std::string& part) {
    const auto made = open_store(store, engine);
    ASSERT_FALSE(made) << store;
    EXPECT_EQ(made.error().code, make_error_code(code)) << store << ": " << made.error().detail;
    EXPECT_NE(made.error().detail.find(part), std::string::npos) << made.error().detail;
  }
  void expect_refused(const result<spi::entry_result>& said, errc code, const std::string& part) {
    ASSERT_FALSE(said);
    EXPECT_EQ(said.error().code, make_error_code(code)) << said.error().detail;
    EXPECT_NE(said.error().detail.find(part), std::string::npos) << said.error().detail;
  }

  live_runtime engine;
};

TEST_F(file_bad_days, urls_that_name_no_directory_are_refused) {
  expect_refused("file:", errc::invalid_argument, "file:///absolute/directory");
  expect_refused("file:relative", errc::invalid_argument, "relative");
  expect_refused("file:///", errc::invalid_argument, "file:///absolute/directory");
  expect_refused("file://host/dir", errc::invalid_argument, "host");
  expect_refused(url() + "?x=1", errc::invalid_argument, "x");
}

TEST_F(file_bad_days, what_is_not_a_directory_is_refused) {
  std::ofstream(path() / "plain") << "x";
  expect_refused(url() + "/plain", errc::rejected, "is not a directory");
  expect_refused(url() + "/plain/below", errc::rejected, "plain/below");
}

TEST_F(file_bad_days, a_directory_that_cannot_be_made_is_refused) {
  expect_refused("file:///proc/holdfast/locks", errc::rejected, "/proc/holdfast/locks");
}

TEST_F(file_bad_days, a_symbolic_link_in_the_directorys_place_is_refused) {
  fs::create_directory_symlink(path(), path() / "link");
  expect_refused(url() + "/link", errc::rejected, "is a symbolic link");
  expect_refused(url() + "/link/", errc::rejected, "is a symbolic link");
}

TEST_F(file_bad_days, a_directory_others_may_change_is_refused) {
  fs::create_directory(path() / "open");
  ASSERT_EQ(::chmod((path() / "open").c_str(), 0777), 0);
  expect_refused(url() + "/open", errc::rejected, "chmod go-w");
  ASSERT_EQ(::chmod((path() / "open").c_str(), 01777), 0);
  EXPECT_TRUE(open_store(url() + "/open", engine)) << "in a sticky one only the owner removes files";
}

TEST_F(file_bad_days, a_directory_of_another_user_is_refused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  fs::create_directory(path() / "theirs");
  ASSERT_EQ(::chown((path() / "theirs").c_str(), 12345, 12345), 0);
  expect_refused(url() + "/theirs", errc::rejected, "belongs to user 12345");
}

TEST_F(file_bad_days, a_damaged_store_file_is_refused) {
  fs::create_directory(path() / "damaged");
  std::ofstream(path() / "damaged" / ".holdfast") << "hello";
  expect_refused(url() + "/damaged", errc::rejected, ".holdfast: damaged");
}

TEST_F(file_bad_days, a_symbolic_link_in_the_locks_place_is_refused) {
  std::ofstream(path().parent_path() / "victim") << "precious";
  fs::create_symlink(path().parent_path() / "victim", path() / "a");
  expect_refused(one.enter(mutex_claim()), errc::rejected, "is a symbolic link");
  EXPECT_EQ(fs::file_size(path().parent_path() / "victim"), 8u);
}

TEST_F(file_bad_days, a_fifo_or_directory_in_the_locks_place_is_refused) {
  ASSERT_EQ(::mkfifo((path() / "a").c_str(), 0600), 0);
  expect_refused(one.enter(mutex_claim()), errc::rejected, "is not a plain file");
  fs::create_directory(path() / "b");
  expect_refused(one.enter(mutex_claim("b")), errc::rejected, "opening");
}

TEST_F(file_bad_days, a_file_with_other_content_is_refused_and_kept) {
  std::ofstream(path() / "a") << "#!/bin/sh\necho these are somebody's words, not a lock of ours\n";
  const auto size = fs::file_size(path() / "a");
  expect_refused(one.enter(mutex_claim()), errc::rejected, "not a lock file of Holdfast");
  expect_refused(one.enter(reader()), errc::rejected, "not a lock file of Holdfast");
  expect_refused(one.enter(permits_claim(1, 2)), errc::rejected, "not a lock file of Holdfast");
  expect_refused(one.enter(mutex_claim(), true, 1, spi::caller::waits), errc::rejected, "not a lock file");
  EXPECT_EQ(fs::file_size(path() / "a"), size);
  EXPECT_TRUE(one.inspect().empty()) << "the lock was given back";
}

TEST_F(file_bad_days, a_clash_of_hashes_is_refused) {
  const std::string name(300, 'x'), other = std::string(160, 'x') + std::string(140, 'y');
  const auto c = mutex_claim(name);
  one.take(c);
  one.leave(c);
  // What a clash would look like: the other name's file holds this name.
  std::vector<fs::path> files;
  for (const auto& each : fs::directory_iterator(path())) {
    if (each.path().filename().string().front() == 'x') files.push_back(each.path());
  }
  ASSERT_EQ(files.size(), 1u);
  const auto d = mutex_claim(other);
  two.take(d);
  two.leave(d);
  for (const auto& each : fs::directory_iterator(path())) {
    if (each.path().filename().string().front() == 'x' && each.path() != files[0]) {
      fs::copy_file(files[0], each.path(), fs::copy_options::overwrite_existing);
    }
  }
  member fresh(url());
  expect_refused(fresh.enter(mutex_claim(other)), errc::rejected, "belongs to another name");
}

/// The kernel refuses to let any file of this process grow, as a full disk would.
class no_room {
 public:
  no_room() : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~no_room() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(file_bad_days, a_full_disk_refuses_and_keeps_nothing) {
  for (const auto& c : {mutex_claim("m"), writer("w"), reader("r"), permits_claim(2, 3, "p")}) {
    {
      no_room full;
      expect_refused(one.enter(c), errc::rejected, "writing the lock file");
      EXPECT_TRUE(two.inspect(c.name).empty());
    }
    two.take(c);
  }
}

TEST_F(file_bad_days, a_full_disk_does_not_end_what_is_held) {
  const auto c = mutex_claim("m");
  one.take(c);
  no_room full;
  EXPECT_EQ(one.renew(c), spi::renewal::renewed);
  EXPECT_TRUE(one.leave(c));
}

TEST_F(file_bad_days, a_store_that_was_removed_answers_at_once) {
  const auto held = mutex_claim();
  one.take(held);
  fs::remove_all(path());
  EXPECT_EQ(one.enter(mutex_claim("b")).error().code, make_error_code(errc::unavailable));
  EXPECT_EQ(one.renew(held), spi::renewal::lost);
  EXPECT_TRUE(one.leave(held));
  EXPECT_TRUE(one.inspect().empty());
}

}  // namespace
}  // namespace holdfast::file_tests
