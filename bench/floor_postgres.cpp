#include "floor.hpp"

#include <holdfast/backend.hpp>

#include <libpq-fe.h>
#include <postgresql.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace holdfast::bench {

namespace {

struct finish {
  void operator()(PGconn* c) const noexcept { PQfinish(c); }
};
struct clear {
  void operator()(PGresult* r) const noexcept { PQclear(r); }
};
using answer = std::unique_ptr<PGresult, clear>;

/// The two calls of an uncontended lock, prepared, on a connection of its own.
class postgres_contender final : public contender {
 public:
  postgres_contender(const std::string& url, std::string lock)
      : connection_(PQconnectdb(url.c_str())), lock_("floor:" + std::move(lock)), owner_(spi::owner_id::random()) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) fail("connect");
    PQsetNoticeProcessor(connection_.get(), [](void*, const char*) {}, nullptr);
    run("SET client_min_messages = error");
    run(sql::postgresql::script({.schema = "holdfast"}, ""));
    prepare("enter", "SELECT holdfast.enter($1, 1, $2, 1, 1, 1, 1, 30000000, 0, 60000000, 0, '', 0, 0)");
    prepare("leave", "SELECT holdfast.leave($1, $2)");
  }

  std::uint64_t acquire() override {
    if (!call("enter").starts_with("(1,")) fail("acquire: the lock is held");
    return 0;
  }
  void release() override {
    if (call("leave") != "1") fail("release of a lock that is not held");
  }
  void pairs(std::uint64_t count) override {
    for (; count > 0; --count) {
      acquire();
      release();
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("postgres floor: " + what + " " + PQerrorMessage(connection_.get()));
  }
  void run(const std::string& text) {
    const answer said(PQexec(connection_.get(), text.c_str()));
    if (PQresultStatus(said.get()) == PGRES_FATAL_ERROR) fail("tables");
  }
  void prepare(const char* name, const char* text) {
    const answer said(PQprepare(connection_.get(), name, text, 2, nullptr));
    if (PQresultStatus(said.get()) != PGRES_COMMAND_OK) fail("prepare");
  }
  std::string call(const char* name) {
    const char* values[]{lock_.c_str(), reinterpret_cast<const char*>(owner_.bytes.data())};
    const int lengths[]{static_cast<int>(lock_.size()), static_cast<int>(owner_.bytes.size())};
    const int formats[]{1, 1};
    const answer said(PQexecPrepared(connection_.get(), name, 2, values, lengths, formats, 0));
    if (PQresultStatus(said.get()) != PGRES_TUPLES_OK) fail(name);
    return PQgetvalue(said.get(), 0, 0);
  }

  const std::unique_ptr<PGconn, finish> connection_;
  const std::string lock_;
  const spi::owner_id owner_;
};

class postgres_subject final : public subject {
 public:
  explicit postgres_subject(std::string url) : url_(std::move(url)) {}
  std::unique_ptr<contender> enlist(const assignment& what) override {
    return std::make_unique<postgres_contender>(url_, what.lock);
  }

 private:
  const std::string url_;
};

class postgres_floor final : public store_floor {
 public:
  std::optional<floor_design> design(workload what) const override {
    switch (what) {
      case workload::uncontended:
        return floor_design{floor_design::crew::same, "2 prepared statements, 1 connection"};
      case workload::many:
        return floor_design{floor_design::crew::same, "2 prepared statements, a connection each"};
      case workload::handover:
      case workload::processes:
      case workload::fair:
        return floor_design{floor_design::crew::one_worker, "2 prepared statements, 1 connection"};
      default:
        return std::nullopt;
    }
  }
  std::unique_ptr<subject> open(const std::string& url, const std::string&) const override {
    return std::make_unique<postgres_subject>(url);
  }
};

}  // namespace

}  // namespace holdfast::bench

extern "C" __attribute__((visibility("default"))) const holdfast::bench::store_floor* holdfast_floor_postgres() {
  static const holdfast::bench::postgres_floor floor;
  return &floor;
}
