#include "statements.hpp"

#include <gtest/gtest.h>

namespace holdfast::mysql {

TEST(mysql_statements, arguments_stand_in_their_places_and_bytes_are_digits) {
  sql::arguments with;
  with.add_bytes(std::string("a'\\\0?", 5)).add(-7).add_unsigned(18446744073709551615U).add_bytes("");
  EXPECT_EQ(written({"x", "CALL `x`(?,?,?,?)"}, with), "CALL `x`(x'61275c003f',-7,18446744073709551615,x'')");
}

TEST(mysql_statements, every_routine_has_the_prefix) {
  const auto all = statements_for({.prefix = "p_"});
  EXPECT_TRUE(all.enter.text.starts_with("CALL `p_enter`(?,?"));
  EXPECT_EQ(all.renew.text, "CALL `p_renew_all`(?)");
  EXPECT_NE(all.load_cell.text.find("`p_cells`"), std::string::npos);
}

}  // namespace holdfast::mysql
