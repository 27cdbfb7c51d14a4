#include "driver.hpp"

#include <holdfast/mysql.hpp>
#include <holdfast/postgres.hpp>
#include <holdfast/uri.hpp>

#include <libpq-fe.h>
#include <mysql.h>

#include <stdexcept>

namespace flash_sale {

namespace sql = holdfast::sql;

namespace {

/// The driver's connection and what holdfast::sql knows it by, in one.
template <class Driver>
class owner final : public sql::connection {
 public:
  owner(Driver driver, std::unique_ptr<sql::connection> as) : driver_(std::move(driver)), as_(std::move(as)) {}

  sql::flavour speaks() const override { return as_->speaks(); }
  sql::transaction_state state() override { return as_->state(); }
  sql::reply execute(const std::string& statement, const std::vector<sql::value>& values) override {
    return as_->execute(statement, values);
  }

 private:
  Driver driver_;
  std::unique_ptr<sql::connection> as_;
};

std::unique_ptr<sql::connection> open_postgresql(const std::string& url) {
  // [postgres]
  std::unique_ptr<PGconn, void (*)(PGconn*)> driver(PQconnectdb(url.c_str()), &PQfinish);  // yours, as ever
  if (PQstatus(driver.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(driver.get()));
  auto in = holdfast::postgres::connection_of(driver.get());  // the same, as holdfast::sql uses it
  // [postgres]
  return std::make_unique<owner<decltype(driver)>>(std::move(driver), std::move(in));
}

std::unique_ptr<sql::connection> open_mysql(const holdfast::uri& where) {
  std::unique_ptr<MYSQL, void (*)(MYSQL*)> driver(mysql_init(nullptr), &mysql_close);
  const auto& at = where.hosts.at(0);
  const std::string database = where.path.empty() ? "" : where.path.substr(1);
  if (mysql_real_connect(driver.get(), at.host.c_str(), where.user.c_str(), where.password.c_str(), database.c_str(),
                         at.port.value_or(0), nullptr, 0) == nullptr)
    throw std::runtime_error(mysql_error(driver.get()));
  auto in = holdfast::mysql::connection_of(driver.get());
  return std::make_unique<owner<decltype(driver)>>(std::move(driver), std::move(in));
}

}  // namespace

std::unique_ptr<sql::connection> open(const std::string& url) {
  const auto where = holdfast::uri::parse(url).value();
  if (where.scheme == "postgresql" || where.scheme == "postgres") return open_postgresql(url);
  if (where.scheme == "mysql" || where.scheme == "mariadb") return open_mysql(where);
  throw std::runtime_error("flash_sale needs a postgresql:// or mysql:// URL, not " + where.redacted());
}

}  // namespace flash_sale
