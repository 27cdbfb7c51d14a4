#include "floor.hpp"

#include <holdfast/backend.hpp>
#include <holdfast/uri.hpp>

#include <mysql.h>
#include <mysql.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace holdfast::bench {

namespace {

struct close {
  void operator()(MYSQL* c) const noexcept { mysql_close(c); }
};

std::string digits(std::string_view bytes) {
  constexpr char digit[] = "0123456789abcdef";
  std::string text = "x'";
  for (const char c : bytes) {
    text += digit[static_cast<unsigned char>(c) >> 4];
    text += digit[static_cast<unsigned char>(c) & 15];
  }
  return text + "'";
}

/// The two calls of an uncontended lock, on a connection of its own.
class mysql_contender final : public contender {
 public:
  mysql_contender(const uri& where, const std::string& lock) : connection_(mysql_init(nullptr)) {
    const auto& at = where.hosts.at(0);
    if (mysql_real_connect(connection_.get(), at.host.c_str(), where.user.c_str(), where.password.c_str(),
                           where.path.substr(1).c_str(), at.port.value_or(0), nullptr,
                           CLIENT_MULTI_STATEMENTS | CLIENT_MULTI_RESULTS) == nullptr)
      fail("connect");
    ask("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    ask("SET SESSION time_zone = '+00:00', sql_mode = '" + std::string(sql::mysql::sql_mode) + "'");
    make_tables();
    const spi::owner_id owner = spi::owner_id::random();
    const std::string id = "x'" + owner.hex() + "'";
    const std::string name = digits("floor:" + lock);
    enter_ = "CALL holdfast_enter(" + name + ",1," + id + ",1,1,1,1,30000000,0,60000000,0,'',0,0)";
    leave_ = "CALL holdfast_leave(" + name + "," + id + ")";
  }

  std::uint64_t acquire() override {
    if (ask(enter_) != "1") fail("acquire: the lock is held");
    return 0;
  }
  void release() override {
    if (ask(leave_) != "1") fail("release of a lock that is not held");
  }
  void pairs(std::uint64_t count) override {
    for (; count > 0; --count) {
      acquire();
      release();
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("mysql floor: " + what + " " + mysql_error(connection_.get()));
  }
  void make_tables() {
    if (ask("SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = "
            "'holdfast_meta'") == "1")
      return;
    ask("SELECT GET_LOCK('" + std::string(sql::mysql::making_lock) + "', 60)");
    for (const auto& one : sql::mysql::statements({.prefix = "holdfast_"})) ask(one);
    ask("SELECT RELEASE_LOCK('" + std::string(sql::mysql::making_lock) + "')");
  }
  /// The first value of the first rows.
  std::string ask(const std::string& text) {
    if (mysql_real_query(connection_.get(), text.data(), text.size()) != 0) fail(text);
    std::string first;
    do {
      MYSQL_RES* rows = mysql_store_result(connection_.get());
      if (rows == nullptr) continue;
      if (MYSQL_ROW row = mysql_fetch_row(rows); row != nullptr && first.empty() && row[0] != nullptr) first = row[0];
      mysql_free_result(rows);
    } while (mysql_next_result(connection_.get()) == 0);
    return first;
  }

  const std::unique_ptr<MYSQL, close> connection_;
  std::string enter_;
  std::string leave_;
};

class mysql_subject final : public subject {
 public:
  explicit mysql_subject(const std::string& url) : url_(uri::parse(url).value()) {}
  std::unique_ptr<contender> enlist(const assignment& what) override {
    return std::make_unique<mysql_contender>(url_, what.lock);
  }

 private:
  const uri url_;
};

class mysql_floor final : public store_floor {
 public:
  std::optional<floor_design> design(workload what) const override {
    switch (what) {
      case workload::uncontended:
        return floor_design{floor_design::crew::same, "2 calls, 1 connection"};
      case workload::many:
        return floor_design{floor_design::crew::same, "2 calls, a connection each"};
      case workload::handover:
      case workload::processes:
      case workload::fair:
        return floor_design{floor_design::crew::one_worker, "2 calls, 1 connection"};
      default:
        return std::nullopt;
    }
  }
  std::unique_ptr<subject> open(const std::string& url, const std::string&) const override {
    return std::make_unique<mysql_subject>(url);
  }
};

}  // namespace

}  // namespace holdfast::bench

extern "C" __attribute__((visibility("default"))) const holdfast::bench::store_floor* holdfast_floor_mysql() {
  static const holdfast::bench::mysql_floor floor;
  return &floor;
}
