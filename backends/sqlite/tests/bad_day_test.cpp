#include "bad_day.hpp"

#include <holdfast/testing/holder_process.hpp>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

namespace holdfast::sqlite_tests {

namespace fs = std::filesystem;
using line = sqlite_client::line;

TEST_F(bad_day_test, files_and_directories_are_private) {
  auto a = client();
  a->take(mutex_claim("m"));
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat is{};
    ASSERT_EQ(::stat((path() + suffix).c_str(), &is), 0) << suffix;
    EXPECT_EQ(is.st_mode & 0777, 0600U) << suffix;
  }
  struct stat is{};
  ASSERT_EQ(::stat((path() + "-holdfast").c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 0777, 0700U);
  ASSERT_EQ(::stat((path() + "-holdfast/turn").c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 0777, 0600U);
}

TEST_F(bad_day_test, a_sidecar_that_is_a_link_is_not_followed) {
  fs::create_directory(directory_.path() / "trap");
  fs::create_directory_symlink("trap", path() + "-holdfast");
  auto a = client();
  auto b = client();
  a->take(mutex_claim("m"));
  b->queue(mutex_claim("m"));
  EXPECT_TRUE(fs::is_empty(directory_.path() / "trap"));
}

TEST_F(bad_day_test, a_sidecar_of_somebody_else_is_not_used) {
  if (::geteuid() != 0) GTEST_SKIP() << "giving files away needs root";
  const std::string sidecar = path() + "-holdfast";
  fs::create_directory(sidecar);
  ::chmod(sidecar.c_str(), 0755);
  ASSERT_EQ(::chown(sidecar.c_str(), 65534, 65534), 0);
  auto a = client();
  a->take(mutex_claim("m"));
  ASSERT_FALSE(a->runtime().logged().empty());
  EXPECT_NE(a->runtime().logged()[0].find("somebody else"), std::string::npos) << a->runtime().logged()[0];
  EXPECT_TRUE(fs::is_empty(sidecar));
}

TEST_F(bad_day_test, a_turn_that_died_with_its_owner_is_waited_for_once) {
  auto a = client();
  const auto use = [&] {
    const auto c = mutex_claim("m");
    a->take(c);
    a->leave(c);
  };
  use();
  const std::uint32_t dead = 77;
  std::ofstream(path() + "-holdfast/turn", std::ios::binary | std::ios::in)
      .write(reinterpret_cast<const char*>(&dead), sizeof dead);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) use();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
}

TEST_F(bad_day_test, permits_come_back_when_leaving_works_at_the_second_try) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    auto a = client();
    const auto permits = [&](spi::count_request::op what, std::int64_t n) {
      return a->count("s", spi::kind::semaphore, what, n)->value;
    };
    permits(spi::count_request::op::set_if_unset, 3);
    spi::claim two = mutex_claim("s");
    two.kind = spi::kind::semaphore;
    two.permits = 2;
    a->take(two);
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit none{1, limit.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &none);
    answer<bool> refused;
    a->store().leave(two, spi::caller::may_block, refused.slot());
    if (refused.wait()) ::_exit(1);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    if (!a->leave(two)) ::_exit(2);
    ::_exit(permits(spi::count_request::op::get, 0) == 3 ? 0 : 3);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(bad_day_test, without_a_sidecar_waiters_look_again_soon) {
  std::ofstream(path() + "-holdfast") << "in the way";
  auto a = client();
  auto b = client();
  EXPECT_FALSE(a->runtime().logged().empty());
  const auto held = mutex_claim("m");
  const auto next = mutex_claim("m");
  a->take(held);
  const auto got = b->enter(next);
  ASSERT_TRUE(is_busy(got));
  EXPECT_LT(std::get<spi::busy>(*got).look_again, clock_.now() + 1s);
  EXPECT_TRUE(is_busy(b->enter(next, line::join, spi::caller::waits))) << "it cannot be woken, so it does not block";
  a->leave(held);
  EXPECT_TRUE(is_granted(b->enter(next)));
}

TEST_F(bad_day_test, a_damaged_page_is_told_when_it_is_met) {
  {
    auto a = client();
    for (int i = 0; i < 200; ++i) a->take(mutex_claim("name/" + std::to_string(i)));
  }
  raw_database(path()).execute("PRAGMA wal_checkpoint(TRUNCATE)");
  std::string bytes = content();
  for (std::size_t i = 2 * 1024; i < bytes.size(); ++i) bytes[i] = static_cast<char>(0xa5);
  write_file(bytes);
  const auto made = try_open(url());
  if (!made) {
    EXPECT_EQ(made.error().code, make_error_code(errc::rejected)) << made.error().detail;
    return;
  }
  answer<spi::entry_result> got;
  (*made)->enter({mutex_claim("name/7"), true, 1, spi::caller::may_block}, got.slot());
  const auto refused = got.wait();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, make_error_code(errc::rejected)) << refused.error().detail;
  EXPECT_NE(refused.error().detail.find("damaged"), std::string::npos) << refused.error().detail;
}

TEST_F(bad_day_test, a_full_disk_is_told_and_what_was_there_stays) {
  const pid_t child = ::fork();
  if (child == 0) {
    // Every write beyond this size fails, as on a full disk.
    std::signal(SIGXFSZ, SIG_IGN);
    auto a = client();
    const auto kept = mutex_claim("kept");
    a->take(kept);
    const rlimit small{64 * 1024, 64 * 1024};
    ::setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < 1000; ++i) {
      const auto got = a->enter(mutex_claim("name/" + std::to_string(i)));
      if (got) continue;
      if (got.error().code != make_error_code(errc::rejected)) ::_exit(1);
      ::_exit(a->inspect("kept").size() == 1 ? 0 : 2);
    }
    ::_exit(3);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  client()->take(mutex_claim("kept"));
}

TEST_F(bad_day_test, a_full_file_system_is_told_and_gets_well_again) {
  const fs::path mount = directory_.path() / "tiny";
  fs::create_directory(mount);
  if (::mount("tiny", mount.c_str(), "tmpfs", 0, "size=256k") != 0) GTEST_SKIP() << "mounting needs root";
  {
    const std::string where = "sqlite://" + (mount / "locks.db").string();
    sqlite_client a(clock_, where);
    const auto held = mutex_claim("held");
    a.take(held);
    std::ofstream filler(mount / "filler");
    const std::string block(4096, 'x');
    while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
    result<spi::entry_result> got{errc::timed_out, ""};
    for (int i = 0; i < 500 && (is_granted(got) || i == 0); ++i) got = a.enter(mutex_claim("n" + std::to_string(i)));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, make_error_code(errc::rejected));
    EXPECT_NE(got.error().detail.find("full"), std::string::npos) << got.error().detail;
    filler.close();
    fs::remove(mount / "filler");
    EXPECT_TRUE(a.leave(held));
  }
  ::umount(mount.c_str());
}

TEST_F(bad_day_test, a_foreign_writer_is_waited_for_within_the_request_timeout) {
  auto a = client();
  a->take(mutex_claim("warm"));
  a->runtime().change_options().request_timeout = 100ms;
  raw_database foreign(path());
  ASSERT_EQ(foreign.execute("BEGIN IMMEDIATE"), SQLITE_OK);
  const auto busy = a->enter(mutex_claim("m"));
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, make_error_code(errc::unavailable));
  EXPECT_NE(busy.error().detail.find("locked"), std::string::npos) << busy.error().detail;
  a->runtime().change_options().request_timeout = 30s;
  std::thread patient([&] { a->take(mutex_claim("m")); });
  foreign.execute("COMMIT");
  patient.join();
}

TEST_F(bad_day_test, who_opens_waits_for_another_who_switches_to_the_log) {
  client()->take(mutex_claim("m"));
  raw_database other(path());
  ASSERT_EQ(other.execute("PRAGMA journal_mode = DELETE"), SQLITE_OK);
  // As far as the switch has come when it waits for readers to go. SQLite refuses a second one on the spot.
  ASSERT_EQ(other.execute("BEGIN IMMEDIATE"), SQLITE_OK);
  runtimes_.push_back(std::make_unique<threaded_runtime>(clock_, "test"));
  runtimes_.back()->change_options().connect_timeout = 50ms;
  const auto start = std::chrono::steady_clock::now();
  const auto refused = open_store(url(), *runtimes_.back());
  EXPECT_GE(std::chrono::steady_clock::now() - start, 50ms) << "it did not wait";
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, make_error_code(errc::unavailable)) << refused.error().detail;
  bool opened = false;
  std::thread patient([&] { opened = static_cast<bool>(try_open(url())); });
  other.execute("COMMIT");
  patient.join();
  EXPECT_TRUE(opened);
}

TEST_F(bad_day_test, a_database_deleted_while_open_loses_its_leases_and_refuses_the_rest) {
  auto a = client();
  const auto held = mutex_claim("m");
  a->take(held);
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path() + suffix);
  EXPECT_EQ(a->renew(held).what, spi::renewal::lost);
  const auto refused = a->enter(mutex_claim("m2"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, make_error_code(errc::rejected));
  EXPECT_NE(refused.error().detail.find("deleted or replaced"), std::string::npos) << refused.error().detail;
  client()->take(held);  // whoever connects now has a fresh one
}

TEST_F(bad_day_test, tokens_go_on_when_the_database_is_deleted) {
  const auto before = client()->take(mutex_claim("m")).first_token;
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path() + suffix);
  EXPECT_GT(client()->take(mutex_claim("m")).first_token, before);
}

TEST_F(bad_day_test, a_database_whose_maker_died_is_made_to_the_end) {
  const auto held = mutex_claim("m");
  auto a = client();
  const auto before = a->take(held).first_token;
  EXPECT_TRUE(a->leave(held));
  a.reset();
  {
    raw_database half(path());
    ASSERT_EQ(half.execute("PRAGMA journal_mode = DELETE; PRAGMA user_version = 0"), SQLITE_OK);
  }
  EXPECT_GT(client()->take(mutex_claim("m")).first_token, before) << "what was there stays";
  EXPECT_TRUE(fs::exists(path() + "-wal"));
}

TEST_F(bad_day_test, fifty_processes_make_the_database_at_the_same_moment) {
  constexpr int crowd = 50;
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < crowd; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(go[1]);
      char byte = 0;
      [[maybe_unused]] const auto end = ::read(go[0], &byte, 1);  // until the parent closes it
      movable_clock clock;
      threaded_runtime engine(clock, "crowd");
      engine.change_options().connect_timeout = 60s;
      auto made = open_store(url(), engine);
      if (!made) ::_exit(1);
      answer<spi::entry_result> got;
      (*made)->enter({mutex_claim("own/" + std::to_string(i)), true, 1, spi::caller::may_block}, got.slot());
      ::_exit(is_granted(got.wait()) ? 0 : 2);
    }
    children.push_back(child);
  }
  ::close(go[0]);
  ::close(go[1]);
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

}  // namespace holdfast::sqlite_tests
