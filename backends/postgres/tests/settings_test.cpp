#include "settings.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace holdfast::postgres {

namespace {

result<settings> read(const std::string& url) {
  auto parsed = uri::parse(url);
  if (!parsed) return parsed.error();
  return settings::from(std::move(*parsed));
}

std::string parameter(const settings& of, const std::string& word) {
  for (const auto& [known, value] : of.parameters)
    if (known == word) return value;
  return "(none)";
}

std::string refusal(const std::string& url, errc code) {
  const auto read_one = read(url);
  if (read_one) return "accepted";
  EXPECT_EQ(read_one.error().code, make_error_code(code)) << read_one.error().detail;
  return read_one.error().detail;
}

}  // namespace

TEST(postgres_settings, everything_of_a_url_reaches_libpq) {
  const auto all =
      read("postgresql://ann:s%40cret@h1:5433,h2/shop?sslmode=verify-full&application_name=x&schema=locks");
  ASSERT_TRUE(all) << all.error().detail;
  EXPECT_EQ(parameter(*all, "host"), "h1,h2");
  EXPECT_EQ(parameter(*all, "port"), "5433,");
  EXPECT_EQ(parameter(*all, "user"), "ann");
  EXPECT_EQ(parameter(*all, "password"), "s@cret");
  EXPECT_EQ(parameter(*all, "dbname"), "shop");
  EXPECT_EQ(parameter(*all, "sslmode"), "verify-full");
  EXPECT_EQ(parameter(*all, "application_name"), "x");
  EXPECT_EQ(parameter(*all, "schema"), "(none)") << "that is ours";
  EXPECT_EQ(all->tables.schema, "locks");
  EXPECT_EQ(parameter(*all, "target_session_attrs"), "read-write") << "of several the one that can be written to";
  EXPECT_EQ(all->shown(), "h1:5433,h2/shop");
}

TEST(postgres_settings, each_host_has_its_own_port) {
  const auto all = read("postgresql://h1:5433,h2/shop");
  ASSERT_TRUE(all) << all.error().detail;
  const auto each = all->each_host();
  ASSERT_EQ(each.size(), 2u);
  EXPECT_EQ(parameter(each[0], "host") + ":" + parameter(each[0], "port"), "h1:5433");
  EXPECT_EQ(parameter(each[1], "host") + ":" + parameter(each[1], "port"), "h2:");
  EXPECT_EQ(parameter(each[1], "target_session_attrs"), "read-write");
  EXPECT_EQ(read("postgresql://h1/shop")->each_host().size(), 1u);
  EXPECT_EQ(read("postgresql:///shop?host=a,b&port=1")->each_host().size(), 2u);
  EXPECT_EQ(read("postgresql:///shop?host=a,b&port=1,2,3")->each_host().size(), 1u) << "libpq says what is wrong";
}

TEST(postgres_settings, what_is_left_out_is_left_to_libpq) {
  const auto all = read("postgresql:///?service=locks");
  ASSERT_TRUE(all) << all.error().detail;
  EXPECT_EQ(parameter(*all, "host"), "(none)");
  EXPECT_EQ(parameter(*all, "service"), "locks");
  EXPECT_EQ(all->tables.schema, "holdfast");
  EXPECT_EQ(all->parameters.size(), 1u);
}

TEST(postgres_settings, a_wrong_part_is_named) {
  EXPECT_NE(refusal("postgresql://h/db?ssl=yes", errc::invalid_argument).find("'ssl'"), std::string::npos);
  EXPECT_NE(refusal("postgresql://h/db?scheme=best", errc::invalid_argument).find("'best'"), std::string::npos);
  EXPECT_NE(refusal("postgresql://h/db?scheme=session", errc::unsupported).find("session"), std::string::npos);
  EXPECT_NE(refusal("postgresql://h/db?scheme=row", errc::unsupported).find("row"), std::string::npos);
  EXPECT_NE(refusal("postgresql://h/db?layout=x", errc::invalid_argument).find("'x'"), std::string::npos);
  EXPECT_NE(refusal("postgresql://h/db?schema=pg_mine", errc::invalid_argument).find("pg_"), std::string::npos);
  EXPECT_NE(refusal("postgresql://h/db?dbname=other", errc::invalid_argument).find("dbname"), std::string::npos);
  EXPECT_NE(refusal("postgresql://h/db?replication=1", errc::invalid_argument).find("replication"), std::string::npos);
  const std::string longest(64, 's');
  EXPECT_NE(refusal("postgresql://h/db?schema=" + longest, errc::invalid_argument).find("63"), std::string::npos);
}

TEST(postgres_settings, shedlocks_table_is_named_and_what_is_ours_after_it) {
  const auto usual = read("postgresql://h/db?layout=shedlock");
  ASSERT_TRUE(usual) << usual.error().detail;
  EXPECT_EQ(usual->tables.shown_table(), "public.shedlock");
  EXPECT_EQ(usual->tables.prefix, "shedlock_holdfast_");
  EXPECT_EQ(usual->at_least, std::chrono::seconds(0));
  const auto other = read("postgresql://h/db?layout=shedlock&table=Jobs.ShedLock&at-least=1500ms");
  ASSERT_TRUE(other) << other.error().detail;
  EXPECT_EQ(other->tables.shown_table(), "jobs.shedlock") << "as names that are not quoted";
  EXPECT_EQ(other->at_least, std::chrono::milliseconds(1500));
  const std::string shared = "postgresql://h/db?layout=shedlock&";
  EXPECT_NE(refusal(shared + "schema=mine", errc::invalid_argument).find("table="), std::string::npos);
  EXPECT_NE(refusal(shared + "table=a-b", errc::invalid_argument).find("'a-b'"), std::string::npos);
  EXPECT_NE(refusal(shared + "table=a.b.c", errc::invalid_argument).find("'a.b.c'"), std::string::npos);
  EXPECT_NE(refusal(shared + "table=" + std::string(41, 't'), errc::invalid_argument).find("40"), std::string::npos);
  EXPECT_NE(refusal(shared + "at-least=-5s", errc::invalid_argument).find("'-5s'"), std::string::npos);
  EXPECT_NE(refusal(shared + "at-least=25h", errc::invalid_argument).find("24h"), std::string::npos);
  EXPECT_NE(refusal("postgresql://h/db?table=t", errc::invalid_argument).find("layout=shedlock"), std::string::npos);
  EXPECT_NE(refusal("postgresql://h/db?at-least=5s", errc::invalid_argument).find("layout=shedlock"),
            std::string::npos);
}

TEST(postgres_settings, the_password_may_be_in_a_file_and_is_never_shown) {
  EXPECT_NE(refusal("postgresql://h/db?password-file=/nowhere/at/all", errc::invalid_argument).find("/nowhere/at/all"),
            std::string::npos);
  EXPECT_EQ(refusal("postgresql://ann:hush@h/db?nonsense=1", errc::invalid_argument).find("hush"), std::string::npos);
  const auto all = read("postgresql://ann:hush@h/db");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->shown().find("hush"), std::string::npos);
}

}  // namespace holdfast::postgres
