#include "settings.hpp"

#include <gtest/gtest.h>

namespace holdfast::mysql {

namespace {

result<settings> parsed(const std::string& url) {
  auto where = uri::parse(url);
  if (!where) return where.error();
  return settings::from(std::move(*where));
}

std::string refusal(const std::string& url, errc code = errc::invalid_argument) {
  const auto outcome = parsed(url);
  if (outcome) return "it was taken";
  EXPECT_EQ(outcome.error().code, make_error_code(code)) << url;
  return outcome.error().detail;
}

}  // namespace

TEST(mysql_settings, every_part_of_the_url_is_read) {
  const auto all = parsed("mysql://ann:hush@db.example:3307/shop?prefix=app_");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->host, "db.example");
  EXPECT_EQ(all->port, 3307U);
  EXPECT_EQ(all->user, "ann");
  EXPECT_EQ(all->password, "hush");
  EXPECT_EQ(all->database, "shop");
  EXPECT_EQ(all->tables.prefix, "app_");
  EXPECT_EQ(all->shown(), "db.example:3307/shop");
}

TEST(mysql_settings, what_is_wrong_is_named) {
  EXPECT_NE(refusal("mysql://h").find("database"), std::string::npos);
  EXPECT_NE(refusal("mysql://h1,h2/db").find("several hosts"), std::string::npos);
  EXPECT_NE(refusal("mysql://h/db?prefix=A-b").find("A-b"), std::string::npos);
  EXPECT_NE(refusal("mysql://h/db?scheme=table").find("table"), std::string::npos);
  EXPECT_NE(refusal("mysql://h/db?colour=red").find("colour"), std::string::npos);
  EXPECT_NE(refusal("mysql://h/db?ssl=yes").find("ssl"), std::string::npos);
  EXPECT_NE(refusal("mysql://h/db?ssl-ca=/nowhere/ca.pem").find("/nowhere/ca.pem"), std::string::npos);
  EXPECT_NE(refusal("mysql://h/db?unix_socket=/s").find("unix_socket"), std::string::npos);
  EXPECT_NE(refusal("mysql://u:p@h/db?password-file=/x").find("password"), std::string::npos);
  EXPECT_NE(refusal("mysql://h/db?scheme=session", errc::unsupported).find("session"), std::string::npos);
}

TEST(mysql_settings, shedlocks_table_is_named_and_what_is_ours_after_it) {
  const auto usual = parsed("mysql://h/db?layout=shedlock");
  ASSERT_TRUE(usual) << usual.error().detail;
  EXPECT_EQ(usual->tables.shown_table(), "shedlock") << "in the database of the connection";
  EXPECT_EQ(usual->tables.prefix, "shedlock_holdfast_");
  const auto other = parsed("mysql://h/db?layout=shedlock&table=jobs.SHEDLOCK&at-least=5s");
  ASSERT_TRUE(other) << other.error().detail;
  EXPECT_EQ(other->tables.shown_table(), "jobs.SHEDLOCK");
  EXPECT_EQ(other->at_least, std::chrono::seconds(5));
  EXPECT_NE(refusal("mysql://h/db?layout=shedlock&prefix=p_").find("table="), std::string::npos);
  EXPECT_NE(refusal("mysql://h/db?layout=shed").find("'shed'"), std::string::npos);
  EXPECT_NE(refusal("mysql://h/db?table=t").find("layout=shedlock"), std::string::npos);
}

}  // namespace holdfast::mysql
