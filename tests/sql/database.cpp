#include "database.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/mysql.hpp>
#include <holdfast/postgres.hpp>
#include <holdfast/testing/mariadb_server.hpp>
#include <holdfast/testing/postgres_server.hpp>

#include <libpq-fe.h>
#include <mysql.h>

#include <stdexcept>

namespace holdfast::testing {

namespace {

/// Owns the driver's connection, and may claim to be of another flavour.
template <class Connection>
class owning final : public sql::connection {
 public:
  owning(Connection held, std::unique_ptr<sql::connection> inside, sql::flavour claims)
      : held_(std::move(held)), inside_(std::move(inside)), claims_(claims) {}

  sql::flavour speaks() const override { return claims_; }
  sql::transaction_state state() override { return inside_->state(); }
  sql::reply execute(const std::string& statement, const std::vector<sql::value>& values) override {
    return inside_->execute(statement, values);
  }

 private:
  Connection held_;
  std::unique_ptr<sql::connection> inside_;
  sql::flavour claims_;
};

class on_postgresql final : public database {
 public:
  owned connect() const override {
    std::unique_ptr<PGconn, void (*)(PGconn*)> made(PQconnectdb(server_.url().c_str()), &PQfinish);
    if (PQstatus(made.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(made.get()));
    auto inside = postgres::connection_of(made.get());
    return std::make_unique<owning<decltype(made)>>(std::move(made), std::move(inside), sql::flavour::postgresql);
  }
  std::string url() const override { return server_.url(); }
  bool postgresql() const override { return true; }
  std::string number_of(sql::connection& one) const override {
    return *sql::run(one, "SELECT pg_backend_pid()").rows.at(0).at(0);
  }
  bool waits(const std::string& number) const override {
    return server_.query("SELECT wait_event_type FROM pg_stat_activity WHERE pid = " + number) == "Lock";
  }
  void end(const std::string& number) const override { server_.query("SELECT pg_terminate_backend(" + number + ")"); }

 private:
  postgres_server server_;
};

class on_mariadb final : public database {
 public:
  explicit on_mariadb(sql::flavour claims) : claims_(claims) {}

  owned connect() const override {
    std::unique_ptr<MYSQL, void (*)(MYSQL*)> made(mysql_init(nullptr), &mysql_close);
    if (mysql_real_connect(made.get(), "127.0.0.1", "root", nullptr, "holdfast", server_.port(), nullptr, 0) == nullptr)
      throw std::runtime_error(mysql_error(made.get()));
    auto inside = mysql::connection_of(made.get());
    return std::make_unique<owning<decltype(made)>>(std::move(made), std::move(inside), claims_);
  }
  std::string url() const override { return server_.url(); }
  bool postgresql() const override { return false; }
  std::string number_of(sql::connection& one) const override {
    return *sql::run(one, "SELECT CONNECTION_ID()").rows.at(0).at(0);
  }
  bool waits(const std::string& number) const override {
    return server_.query("SELECT trx_state FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = " + number) ==
           "LOCK WAIT";
  }
  void end(const std::string& number) const override { server_.query("KILL " + number); }

 private:
  mariadb_server server_;
  sql::flavour claims_;
};

}  // namespace

std::unique_ptr<database> start(const std::string& which) {
  if (which == "postgresql") return std::make_unique<on_postgresql>();
  return std::make_unique<on_mariadb>(which == "mysql" ? sql::flavour::mysql : sql::flavour::mariadb);
}

void on_database::make_tables() const { static_cast<void>(holdfast::connect(db->url())); }

void on_database::make_numbers() const {
  const auto in = db->connect();
  sql::run(*in,
           "CREATE TABLE numbers(id bigint PRIMARY KEY, number bigint NOT NULL, version bigint NOT NULL DEFAULT 0, "
           "fence bigint NOT NULL DEFAULT 0)");
  sql::run(*in, "INSERT INTO numbers(id, number) VALUES(1, 0)");
}

std::int64_t on_database::number(sql::connection& in) {
  return std::stoll(text(in, "SELECT number FROM numbers WHERE id = 1"));
}

std::string on_database::text(sql::connection& in, const std::string& question) {
  return sql::run(in, question).rows.at(0).at(0).value_or("NULL");
}

}  // namespace holdfast::testing
