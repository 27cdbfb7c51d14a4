#pragma once

#include <holdfast/sql.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace flash_sale {

/// The database of the shop, as every service has it: its driver's connections, its own tables.
class shop {
 public:
  /// postgresql:// or mysql://. Makes the tables anew.
  explicit shop(std::string url);

  /// A connection of the database's own driver, for one thread.
  std::unique_ptr<holdfast::sql::connection> connect() const;

  /// Puts `units` of the article `article` on sale, divided into so many parts, and forgets its orders.
  void stock(int article, int parts, std::int64_t units) const;

  /// What is wrong with the orders of `article` if so many units were on sale; empty: nothing.
  std::string audit(int article, std::int64_t units) const;

  const std::string& url() const noexcept { return url_; }

 private:
  std::string url_;
};

/// Units left, as the database has them.
std::int64_t units_left(holdfast::sql::connection& in, int article, int part);

/// Writes down an order: of whom, and which unit it got. Nothing in the table keeps two orders from the same unit.
void order(holdfast::sql::connection& in, int article, int part, int buyer, std::int64_t unit);

/// `statement` with `$1`, `$2`, ... where the database has question marks.
std::string spelled(const holdfast::sql::connection& in, std::string statement);

}  // namespace flash_sale
