#include "bad_day.hpp"

#include <sys/stat.h>

#include <filesystem>

// What is refused when a store is opened.

namespace holdfast::sqlite_tests {

namespace fs = std::filesystem;

TEST_F(bad_day_test, urls_that_name_no_file_are_refused) {
  expect_refused("sqlite:", errc::invalid_argument, "names no file");
  expect_refused("sqlite:locks.db", errc::invalid_argument, "relative");
  expect_refused("sqlite://locks.db", errc::invalid_argument, "no host");
  expect_refused("sqlite://" + directory_.path().string() + "/", errc::invalid_argument, "ends in a slash");
  expect_refused(url() + "?journal=off", errc::invalid_argument, "journal");
}

TEST_F(bad_day_test, a_symbolic_link_is_refused_but_not_one_on_the_way) {
  fs::create_symlink("elsewhere.db", path());
  expect_refused(url(), errc::rejected, "symbolic link");
  EXPECT_FALSE(fs::exists(directory_.path() / "elsewhere.db"));
  fs::create_directory(directory_.path() / "real");
  fs::create_directory_symlink("real", directory_.path() / "link");
  EXPECT_TRUE(try_open("sqlite://" + (directory_.path() / "link/locks.db").string()));
}

TEST_F(bad_day_test, a_directory_a_device_and_a_missing_parent_are_refused) {
  fs::create_directory(path());
  expect_refused(url(), errc::rejected, "directory");
  expect_refused("sqlite:///dev/null", errc::rejected, "not a file");
  expect_refused("sqlite://" + (directory_.path() / "missing/locks.db").string(), errc::rejected, "does not exist");
}

TEST_F(bad_day_test, a_file_with_two_names_is_refused) {
  write_file("");
  fs::create_hard_link(path(), directory_.path() / "other");
  expect_refused(url(), errc::rejected, "hard links");
}

TEST_F(bad_day_test, an_empty_file_is_as_good_as_none) {
  write_file("");
  client()->take(mutex_claim("m"));
}

TEST_F(bad_day_test, garbage_is_refused_and_left_alone) {
  for (const std::string& garbage : {std::string("x"), std::string(5000, 'g'), std::string("SQLite format 3")}) {
    write_file(garbage);
    expect_refused(url(), errc::rejected, "not an SQLite database");
    EXPECT_EQ(content(), garbage);
  }
}

TEST_F(bad_day_test, a_truncated_database_is_refused) {
  client()->take(mutex_claim("m"));
  fs::remove(path() + "-wal");
  for (const std::uintmax_t size : {std::uintmax_t{50}, std::uintmax_t{700}, std::uintmax_t{1500}}) {
    fs::resize_file(path(), size);
    const auto made = try_open(url());
    ASSERT_FALSE(made) << size;
    EXPECT_EQ(made.error().code, make_error_code(errc::rejected)) << made.error().detail;
  }
}

TEST_F(bad_day_test, another_programs_database_is_refused_and_left_alone) {
  for (const char* journal : {"PRAGMA journal_mode = DELETE", "PRAGMA journal_mode = WAL"}) {
    fs::remove(path());
    {
      raw_database foreign(path());
      foreign.execute(journal);
      foreign.execute("CREATE TABLE mine(x); INSERT INTO mine VALUES(1)");
    }
    const std::string before = content();
    expect_refused(url(), errc::rejected, "another program");
    EXPECT_EQ(content(), before);
    EXPECT_FALSE(fs::exists(path() + "-wal"));
    EXPECT_FALSE(fs::exists(path() + "-shm"));
    EXPECT_FALSE(fs::exists(path() + "-holdfast"));
  }
}

TEST_F(bad_day_test, a_newer_schema_is_refused) {
  client()->take(mutex_claim("m"));
  raw_database(path()).execute("PRAGMA user_version = 99");
  expect_refused(url(), errc::rejected, "newer Holdfast (schema 99; this one knows 1)");
}

TEST_F(bad_day_test, a_read_only_file_is_refused) {
  client()->take(mutex_claim("m"));
  for (const char* suffix : {"", "-wal", "-shm"}) ::chmod((path() + suffix).c_str(), 0444);
  ::chmod(directory_.path().c_str(), 0777);
  EXPECT_EQ(without_rights([&] { return refused_here(errc::rejected, "cannot be written to"); }), 0);
}

TEST_F(bad_day_test, a_read_only_directory_is_refused) {
  ::chmod(directory_.path().c_str(), 0555);
  EXPECT_EQ(without_rights([&] { return refused_here(errc::rejected, "Permission denied"); }), 0);
}

TEST_F(bad_day_test, a_file_that_may_not_be_read_is_refused) {
  client()->take(mutex_claim("m"));
  ::chmod(directory_.path().c_str(), 0777);
  if (::geteuid() != 0) ::chmod(path().c_str(), 0);
  EXPECT_EQ(without_rights([&] { return refused_here(errc::rejected, "Permission denied"); }), 0);
}

}  // namespace holdfast::sqlite_tests
