// A user of holdfast::sql with a driver of its own: the headers of both adapters, and what they link to.
#include <holdfast/mysql.hpp>
#include <holdfast/postgres.hpp>
#include <holdfast/sql.hpp>

int main() {
  const auto in = holdfast::postgres::connection_of(nullptr);
  const auto other = holdfast::mysql::connection_of(nullptr);
  const holdfast::sql::versioned_table stock({.table = "stock"});
  return in != nullptr && other != nullptr && in->speaks() == holdfast::sql::flavour::postgresql ? 0 : 1;
}
