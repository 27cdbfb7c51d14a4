#include "shop.hpp"

#include "driver.hpp"

namespace flash_sale {

namespace sql = holdfast::sql;

shop::shop(std::string url) : url_(std::move(url)) {
  const auto in = connect();
  for (const char* table : {"flash_stock", "flash_orders"}) sql::run(*in, std::string("DROP TABLE IF EXISTS ") + table);
  // Neither a CHECK nor a unique key: what the locks are for is left to the locks.
  sql::run(*in,
           "CREATE TABLE flash_stock(article int, part int, units bigint NOT NULL, version bigint NOT NULL DEFAULT 0, "
           "fence bigint NOT NULL DEFAULT 0, PRIMARY KEY(article, part))");
  sql::run(*in, "CREATE TABLE flash_orders(article int, part int, buyer int, unit bigint)");
}

std::unique_ptr<sql::connection> shop::connect() const { return open(url_); }

void shop::stock(int article, int parts, std::int64_t units) const {
  const auto in = connect();
  for (int part = 0; part < parts; ++part) {
    const std::int64_t share = units / parts + (part < units % parts ? 1 : 0);
    sql::run(*in, spelled(*in, "INSERT INTO flash_stock(article, part, units) VALUES(?, ?, ?)"),
             {article, part, share});
  }
}

std::string shop::audit(int article, std::int64_t units) const {
  const auto in = connect();
  const auto ask = [&](const std::string& what) {
    return std::stoll(*sql::run(*in, spelled(*in, what), {article}).rows.at(0).at(0));
  };
  const auto orders = ask("SELECT count(*) FROM flash_orders WHERE article = ?");
  const auto left = ask("SELECT sum(units) FROM flash_stock WHERE article = ?");
  const auto below = ask("SELECT count(*) FROM flash_stock WHERE units < 0 AND article = ?");
  const auto twice =
      ask("SELECT count(*) FROM (SELECT part, unit FROM flash_orders WHERE article = ? "
          "GROUP BY part, unit HAVING count(*) > 1) AS doubled");
  if (orders != units) return std::to_string(orders) + " orders for " + std::to_string(units) + " units";
  if (left != 0) return std::to_string(left) + " units are left";
  if (below != 0) return "the stock is below zero";
  if (twice != 0) return std::to_string(twice) + " units were sold twice";
  return {};
}

std::int64_t units_left(sql::connection& in, int article, int part) {
  const auto got =
      sql::run(in, spelled(in, "SELECT units FROM flash_stock WHERE article = ? AND part = ?"), {article, part});
  return std::stoll(got.rows.at(0).at(0).value());
}

void order(sql::connection& in, int article, int part, int buyer, std::int64_t unit) {
  sql::run(in, spelled(in, "INSERT INTO flash_orders(article, part, buyer, unit) VALUES(?, ?, ?, ?)"),
           {article, part, buyer, unit});
}

std::string spelled(const sql::connection& in, std::string statement) {
  if (in.speaks() != sql::flavour::postgresql) return statement;
  int number = 0;
  for (std::size_t at = statement.find('?'); at != statement.npos; at = statement.find('?', at))
    statement.replace(at, 1, "$" + std::to_string(++number));
  return statement;
}

}  // namespace flash_sale
