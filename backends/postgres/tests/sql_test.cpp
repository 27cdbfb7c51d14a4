#include "fragments.hpp"
#include "postgresql.hpp"
#include "routines.hpp"
#include "tables.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

// The description that the SQL stores share, and PostgreSQL's way to spell it.

namespace holdfast::sql {

namespace {

/// Shows what it was asked.
class echo final : public dialect {
 public:
  std::string spell(type) const override { return "T"; }
  std::string table(std::string_view name) const override { return "<" + std::string(name) + ">"; }
  std::string replace(std::string_view word, std::string_view rest) const override {
    return "[" + std::string(word) + "|" + std::string(rest) + "]";
  }
};

}  // namespace

TEST(sql_words, are_replaced_from_the_inside) {
  EXPECT_EQ(render("a {t locks} b", echo()), "a <locks> b");
  EXPECT_EQ(render("{tell x, concat('e ', {hex y})}", echo()), "[tell|x, concat('e ', [hex|y])]");
  EXPECT_EQ(render("{reread SELECT 1 FROM {t locks};}", echo()), "[reread|SELECT 1 FROM <locks>;]");
  EXPECT_THROW(render("{now", echo()), std::logic_error);
  EXPECT_THROW(render("{use nothing}", echo()), std::logic_error);
}

TEST(sql_description, every_routine_and_table_can_be_spelled) {
  const auto all = postgresql::statements({.schema = "holdfast"});
  EXPECT_GE(all.size(), tables().size() + routines().size());
  for (const auto& one : all) {
    EXPECT_EQ(one.find('{'), std::string::npos) << one;
    EXPECT_EQ(one.find("now()"), std::string::npos) << "that is the start of the transaction: " << one;
  }
}

TEST(sql_description, the_schema_is_an_identifier_whatever_it_is_called) {
  EXPECT_EQ(postgresql::quoted("a\"b"), "\"a\"\"b\"");
  for (const auto& one : postgresql::statements({.schema = "My Locks"}))
    EXPECT_EQ(one.find("My Locks."), std::string::npos) << "without its quotes: " << one;
}

}  // namespace holdfast::sql
