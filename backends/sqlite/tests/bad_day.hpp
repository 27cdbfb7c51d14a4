#pragma once

#include "sqlite_fixture.hpp"

#include <sqlite3.h>

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

namespace holdfast::sqlite_tests {

class bad_day_test : public sqlite_test {
 protected:
  result<std::unique_ptr<spi::backend>> try_open(const std::string& where) {
    runtimes_.push_back(std::make_unique<threaded_runtime>(clock_, "test"));
    return open_store(where, *runtimes_.back());
  }
  void expect_refused(const std::string& where, errc code, const std::string& words) {
    const auto made = try_open(where);
    ASSERT_FALSE(made) << where;
    EXPECT_EQ(made.error().code, make_error_code(code)) << made.error().detail;
    EXPECT_NE(made.error().detail.find(words), std::string::npos) << made.error().detail;
  }
  void write_file(const std::string& content) { std::ofstream(path(), std::ios::binary) << content; }
  std::string content() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// Runs in a child process as somebody without rights; its exit code.
  static int without_rights(const std::function<int()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(99);
      ::_exit(body());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
  }
  /// In a child: 0 if connecting is refused with this code and these words.
  int refused_here(errc code, const std::string& words) {
    const auto made = try_open(url());
    if (made) return 1;
    if (made.error().code != make_error_code(code)) return 2;
    return made.error().detail.find(words) == std::string::npos ? 3 : 0;
  }

  std::vector<std::unique_ptr<threaded_runtime>> runtimes_;
};

struct raw_database {
  explicit raw_database(const std::string& path) { sqlite3_open(path.c_str(), &db); }
  ~raw_database() { sqlite3_close(db); }
  int execute(const char* sql) { return sqlite3_exec(db, sql, nullptr, nullptr, nullptr); }
  sqlite3* db = nullptr;
};

}  // namespace holdfast::sqlite_tests
