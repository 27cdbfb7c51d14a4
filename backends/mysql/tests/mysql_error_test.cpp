#include "mysql_error.hpp"

#include <gtest/gtest.h>

namespace holdfast::mysql {

TEST(mysql_error, what_passes_is_unavailable_and_what_needs_somebody_is_rejected) {
  for (const unsigned passes : {1213U, 1205U, 1317U, 1040U, 1290U, 1927U, 2002U, 2006U, 2013U, 2055U})
    EXPECT_EQ(failure_of(passes, "words").code, make_error_code(errc::unavailable)) << passes;
  for (const unsigned stays : {1045U, 1049U, 1142U, 1146U, 1305U, 1021U, 1665U, 2026U, 1064U})
    EXPECT_EQ(failure_of(stays, "words").code, make_error_code(errc::rejected)) << stays;
}

TEST(mysql_error, number_and_words_are_kept_on_one_line) {
  EXPECT_EQ(failure_of(1064, "a\nb").detail, "the server refused it: a b (1064)");
  EXPECT_NE(failure_of(1370, "denied").detail.find("holdfast ddl mysql"), std::string::npos);
}

TEST(mysql_error, only_some_errors_are_the_end_of_the_connection) {
  for (const unsigned end : {2006U, 2013U, 1927U, 1053U}) EXPECT_TRUE(ends_connection(end)) << end;
  for (const unsigned none : {1213U, 1205U, 1317U, 1146U}) EXPECT_FALSE(ends_connection(none)) << none;
  EXPECT_TRUE(deadlock_victim(1213));
  EXPECT_FALSE(deadlock_victim(1205));
  EXPECT_TRUE(row_kept(failure_of(1205, "x")));
  EXPECT_FALSE(row_kept(failure_of(1213, "x")));
}

}  // namespace holdfast::mysql
