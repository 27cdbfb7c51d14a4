#include "exit_code.hpp"
#include "output.hpp"
#include "subcommand.hpp"

#include <mysql.hpp>
#include <postgresql.hpp>

#include <array>
#include <optional>
#include <string>

namespace holdfast::cli {
namespace {

constexpr std::array flags{flag{"--schema", "NAME"},
                           flag{"--prefix", "TEXT"},
                           flag{"--layout", "NAME"},
                           flag{"--table", "NAME"},
                           flag{"--collation", "NAME"},
                           flag{"--role", "NAME"},
                           help_flag};
constexpr std::array<std::string_view, 1> operands{"DATABASE"};

constexpr std::string_view help_text =
    R"(Usage: holdfast ddl postgresql [--schema NAME] [--role NAME]
       holdfast ddl mysql [--prefix TEXT] [--role USER[@HOST]]
       holdfast ddl postgresql|mysql --layout shedlock [--table NAME] [--role NAME]

Prints the statements that make the tables and routines of a store, for an administrator to run, so that the service
itself needs no right to make tables:

  holdfast ddl postgresql --role app | psql -d DATABASE
  holdfast ddl mysql --role app | mariadb DATABASE

It connects to nothing. To run it again is harmless, and brings older tables up to date.

  --schema NAME  PostgreSQL: where they are made (default: holdfast); the URL then says ?schema=NAME
  --prefix TEXT  MySQL: what their names begin with (default: holdfast_); the URL then says ?prefix=TEXT
  --layout shedlock  what goes with ShedLock's table, and that itself if it is missing; the URL then says
                 ?layout=shedlock
  --table NAME   what ShedLock's table is called, or SCHEMA.NAME (default: shedlock); the URL then says ?table=NAME
  --collation NAME  MySQL: that of the column `name` of ShedLock's table, if that is there (default: utf8mb4_bin)
  --role NAME    also lets this role use them; MySQL: this user, from every host unless it says @HOST

Exit codes: 0; 64 usage.
)";

/// What goes with ShedLock's table, if that is asked for.
std::optional<sql::layout> shared(const invocation& call, std::string_view usual_schema) {
  const auto layout = call.args.value("--layout").value_or("holdfast");
  if (layout == "holdfast") {
    for (const char* flag : {"--table", "--collation"})
      if (call.args.value(flag)) throw usage_error(std::string(flag) + " goes with --layout shedlock");
    return std::nullopt;
  }
  if (layout != "shedlock") throw usage_error("--layout " + quoted(layout) + " is neither holdfast nor shedlock");
  for (const char* flag : {"--schema", "--prefix"})
    if (call.args.value(flag))
      throw usage_error(std::string(flag) + " does not go with --layout shedlock; write --table");
  auto which = sql::beside_shedlock(call.args.value("--table").value_or("shedlock"), usual_schema);
  if (!which) throw usage_error("--table " + which.error().detail);
  return std::move(*which);
}

std::string postgresql(const invocation& call) {
  const auto role = call.args.value("--role").value_or("");
  if (call.args.value("--collation")) throw usage_error("--collation is for mysql");
  if (const auto beside = shared(call, "public"))
    return sql::postgresql::script(sql::postgresql::unquoted(*beside), role);
  if (call.args.value("--prefix")) throw usage_error("--prefix is for mysql; for postgresql it is --schema");
  const auto schema = call.args.value("--schema").value_or("holdfast");
  // As the URL refuses them: longer ones are cut by the server, and those of pg_ are its own.
  if (schema.empty() || schema.size() > 63 || schema.starts_with("pg_"))
    throw usage_error("--schema " + quoted(schema) + " has no 1 to 63 bytes, or begins with pg_");
  return sql::postgresql::script({.schema = std::string(schema)}, role);
}

std::string mysql(const invocation& call) {
  const auto role = call.args.value("--role").value_or("");
  if (auto beside = shared(call, "")) {
    beside->collation = call.args.value("--collation").value_or(sql::mysql::usual_collation);
    if (!sql::mysql::is_prefix(beside->collation))
      throw usage_error("--collation " + quoted(beside->collation) +
                        " is not the name of one, like utf8mb4_general_ci");
    return sql::mysql::script(*beside, role);
  }
  if (call.args.value("--schema")) throw usage_error("--schema is for postgresql; for mysql it is --prefix");
  const auto prefix = call.args.value("--prefix").value_or("holdfast_");
  if (!sql::mysql::is_prefix(prefix))
    throw usage_error("--prefix " + quoted(prefix) + " has more than 40 bytes, or others than a to z, 0 to 9 and _");
  return sql::mysql::script({.prefix = std::string(prefix)}, role);
}

int ddl(const invocation& call) {
  const std::string_view database = call.args.operand(0).value_or("");
  if (database == "postgresql")
    print(postgresql(call));
  else if (database == "mysql" || database == "mariadb")
    print(mysql(call));
  else
    throw usage_error("there is no DDL for " + quoted(database) +
                      "; write 'holdfast ddl postgresql' or 'holdfast ddl mysql'");
  return exit_code::ok;
}

}  // namespace

constinit const subcommand ddl_command{
    .grammar = {"ddl", flags, operands},
    .summary = "print the statements that make a database's tables",
    .help = help_text,
    .run = ddl,
};

}  // namespace holdfast::cli
