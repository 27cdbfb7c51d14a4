#include "cli_fixture.hpp"

namespace holdfast::cli::testing {
namespace {

struct wrong_line {
  std::vector<std::string> words;
  std::string hint;  ///< What the message must say.
};

class wrong_usage : public cli_test, public ::testing::WithParamInterface<wrong_line> {};

TEST_P(wrong_usage, exits_64_and_names_the_part) {
  const outcome end = run(GetParam().words);
  EXPECT_EQ(end.code, 64) << end.err;
  EXPECT_EQ(end.out, "");
  EXPECT_TRUE(end.err.starts_with("holdfast: ")) << end.err;
  EXPECT_NE(end.err.find(GetParam().hint), std::string::npos) << end.err;
  EXPECT_EQ(std::ranges::count(end.err, '\n'), 1) << end.err;
}

const std::string too_long(513, 'x');

INSTANTIATE_TEST_SUITE_P(
    command_line, wrong_usage,
    ::testing::Values(wrong_line{{}, "no command"}, wrong_line{{"fly"}, "unknown command 'fly'"},
                      wrong_line{{"verify"}, "unknown command 'verify'"}, wrong_line{{"--fly"}, "--store URL"},
                      wrong_line{{"--store"}, "--store needs a value"},
                      wrong_line{{"help", "fly"}, "unknown command 'fly'"},
                      wrong_line{{"help", "run", "ls"}, "one word too many"},
                      wrong_line{{"--store", "memory:", "ls", "--store", "memory:"}, "--store is given twice"},
                      wrong_line{{"--store", "nosuch://x", "ls"}, "nosuch"}, wrong_line{{"ls", "--store="}, "URL"},
                      wrong_line{{"ls", "a", "b"}, "'b' is one word too many"}, wrong_line{{"ls", "--jsno"}, "--json"},
                      wrong_line{{"ls", "--json=yes"}, "--json takes no value"},
                      wrong_line{{"ls", "--json", "--json"}, "given twice"}, wrong_line{{"show"}, "NAME is missing"},
                      wrong_line{{"show", ""}, "name"}, wrong_line{{"evict", "n"}, "--yes"},
                      wrong_line{{"evict"}, "NAME is missing"}, wrong_line{{"stores", "x"}, "one word too many"},
                      wrong_line{{"ddl", "oracle"}, "holdfast ddl postgresql"},
                      wrong_line{{"ddl", "postgresql", "--schema", "pg_locks"}, "pg_locks"},
                      wrong_line{{"ddl", "mysql", "--schema", "s"}, "--prefix"},
                      wrong_line{{"ddl", "mysql", "--prefix", "A"}, "--prefix"},
                      wrong_line{{"ddl", "mysql", "--layout", "shed"}, "shedlock"},
                      wrong_line{{"ddl", "mysql", "--table", "t"}, "--layout shedlock"},
                      wrong_line{{"ddl", "postgresql", "--layout", "shedlock", "--schema", "s"}, "--table"},
                      wrong_line{{"ddl", "postgresql", "--layout", "shedlock", "--table", "a-b"}, "a-b"}));

INSTANTIATE_TEST_SUITE_P(
    run_line, wrong_usage,
    ::testing::Values(
        wrong_line{{"run"}, "NAME is missing"}, wrong_line{{"run", "n"}, "'--'"},
        wrong_line{{"run", "n", "--"}, "no command behind '--'"},
        wrong_line{{"run", "n", "true"}, "'--' is missing before the command"},
        wrong_line{{"run", "n", "m", "--", "true"}, "'m' is one word too many"},
        wrong_line{{"run", "--", "true"}, "NAME is missing"},
        wrong_line{{"run", "n", "--wait", "-1s", "--", "true"}, "--wait '-1s' is not a duration"},
        wrong_line{{"run", "n", "--wait", "5", "--", "true"}, "250ms"},
        wrong_line{{"run", "n", "--wait=soon", "--", "true"}, "--wait 'soon'"},
        wrong_line{{"run", "n", "--wait", "--", "true"}, "--wait needs a value"},
        wrong_line{{"run", "n", "--wait", "1s", "--no-wait", "--", "true"}, "exclude each other"},
        wrong_line{{"run", "n", "--ttl", "0", "--", "true"}, "--ttl"},
        wrong_line{{"run", "n", "--ttl", "0s", "--", "true"}, "--ttl must be from 10ms"},
        wrong_line{{"run", "n", "--ttl", "9000h", "--", "true"}, "--ttl must be from 10ms"},
        wrong_line{{"run", "n", "--grace", "-2s", "--", "true"}, "--grace '-2s'"},
        wrong_line{{"run", "n", "--permits", "3", "--of", "2", "--", "true"}, "--permits 3 is more than there are"},
        wrong_line{{"run", "n", "--permits", "0", "--of", "2", "--", "true"}, "--permits '0'"},
        wrong_line{{"run", "n", "--permits", "-1", "--of", "2", "--", "true"}, "--permits '-1'"},
        wrong_line{{"run", "n", "--permits", "1x", "--of", "2", "--", "true"}, "--permits '1x'"},
        wrong_line{{"run", "n", "--permits", "99999999999", "--of", "2", "--", "true"}, "4294967295"},
        wrong_line{{"run", "n", "--permits", "2", "--", "true"}, "--permits needs --of"},
        wrong_line{{"run", "n", "--of", "2", "--", "true"}, "--of needs --permits"},
        wrong_line{{"run", "n", "--shared", "--permits", "1", "--of", "2", "--", "true"}, "exclude each other"},
        wrong_line{{"run", "n", "--jobs", "2", "--", "true"}, "unknown option '--jobs'"},
        wrong_line{{"run", "n", "-x", "--", "true"}, "unknown option '-x'"},
        wrong_line{{"run", "", "--", "true"}, "name"}, wrong_line{{"run", "a\nb", "--", "true"}, "name"},
        wrong_line{{"run", "a\xFF", "--", "true"}, "name"}, wrong_line{{"run", too_long, "--", "true"}, "name"},
        wrong_line{{"run", "n", "--store", "sqlite:relative", "--", "true"}, "sqlite"}));

TEST_F(cli_test, a_wrong_url_does_not_show_its_password) {
  const outcome end = run({"--store", "redis://me:hunter2@host:99999/0", "ls"});
  EXPECT_EQ(end.code, 64) << end.err;
  EXPECT_EQ(end.err.find("hunter2"), std::string::npos) << end.err;
}

TEST_F(cli_test, the_store_may_be_named_before_or_behind_the_command) {
  const std::string other = "sqlite://" + path("other.db");
  EXPECT_EQ(run({"--store", other, "run", "n", "--", "true"}).code, 0);
  EXPECT_EQ(run({"run", "n", "--store", other, "--", "true"}).code, 0);
  EXPECT_EQ(run({"--store=" + other, "ls"}).code, 0);
  EXPECT_NE(read_file("other.db"), "");
  EXPECT_EQ(read_file("locks.db"), "");
}

TEST_F(cli_test, options_of_the_command_are_not_ours) {
  const outcome end = run({"run", "n", "--", "echo", "--wait", "--help", "--"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(end.out, "--wait --help --\n");
}

TEST_F(cli_test, every_command_has_help) {
  const outcome overview = run({"--help"});
  EXPECT_EQ(overview.code, 0);
  EXPECT_EQ(run({"help"}).out, overview.out);
  EXPECT_EQ(run({"-h"}).out, overview.out);
  for (const std::string command : {"run", "ls", "show", "watch", "evict", "stores", "doctor", "ddl"}) {
    const outcome help = run({"help", command});
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_TRUE(help.out.starts_with("Usage: holdfast " + command)) << help.out;
    EXPECT_EQ(run({command, "--help"}).out, help.out) << command;
    EXPECT_NE(overview.out.find("\n  " + command + " "), std::string::npos) << command;
  }
}

TEST_F(cli_test, the_ddl_names_schema_and_role_and_connects_to_nothing) {
  const outcome end = run({"ddl", "postgresql", "--schema", "my locks", "--role", "app"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_NE(end.out.find("CREATE SCHEMA IF NOT EXISTS \"my locks\";"), std::string::npos);
  EXPECT_NE(end.out.find("FUNCTION \"my locks\".enter("), std::string::npos);
  EXPECT_NE(end.out.find("GRANT USAGE ON SCHEMA \"my locks\" TO \"app\";"), std::string::npos);
  EXPECT_EQ(run({"ddl", "postgresql"}).out.find("GRANT"), std::string::npos);
}

TEST_F(cli_test, the_ddl_of_mysql_names_prefix_and_account) {
  const outcome end = run({"ddl", "mysql", "--prefix", "my_", "--role", "app@10.%"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_NE(end.out.find("CREATE TABLE IF NOT EXISTS `my_locks`("), std::string::npos);
  EXPECT_NE(end.out.find("CREATE PROCEDURE `my_enter`("), std::string::npos);
  EXPECT_NE(end.out.find("GRANT EXECUTE ON PROCEDURE `my_enter` TO 'app'@'10.%'//"), std::string::npos);
  EXPECT_EQ(run({"ddl", "mariadb"}).out.find("GRANT"), std::string::npos);
}

TEST_F(cli_test, the_ddl_beside_shedlocks_table_is_named_after_it) {
  const outcome end = run({"ddl", "postgresql", "--layout", "shedlock", "--table", "Jobs.Locks", "--role", "app"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_NE(end.out.find("CREATE TABLE IF NOT EXISTS \"jobs\".\"locks\"("), std::string::npos);
  EXPECT_NE(end.out.find("FUNCTION \"jobs\".\"locks_holdfast_enter\"("), std::string::npos);
  EXPECT_NE(end.out.find("GRANT SELECT, INSERT, UPDATE ON \"jobs\".\"locks\" TO \"app\";"), std::string::npos);
  EXPECT_EQ(end.out.find("ALL TABLES"), std::string::npos) << "others have tables there";
  const outcome other = run({"ddl", "mysql", "--layout", "shedlock", "--collation", "utf8mb4_general_ci"});
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_NE(other.out.find("CREATE PROCEDURE `shedlock_holdfast_enter`("), std::string::npos);
  EXPECT_NE(other.out.find("COLLATE utf8mb4_general_ci"), std::string::npos);
}

TEST_F(cli_test, the_version_is_the_projects) {
  const outcome end = run({"--version"});
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.out, "holdfast " HOLDFAST_TEST_VERSION "\n");
}

TEST_F(cli_test, output_that_cannot_be_written_is_a_failure) {
  child to_full_disk = start_program({"sh", "-c", "exec \"$HOLDFAST\" --help >/dev/full"});
  const outcome end = finish(std::move(to_full_disk));
  EXPECT_EQ(end.code, 1);
  EXPECT_NE(end.err.find("standard output"), std::string::npos) << end.err;
}

}  // namespace
}  // namespace holdfast::cli::testing
