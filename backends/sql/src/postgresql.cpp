#include "postgresql.hpp"

#include "dialect.hpp"
#include "routine_text.hpp"
#include "routines.hpp"
#include "tables.hpp"

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace holdfast::sql::postgresql {

namespace {

std::string doubled(std::string_view text, char quote) {
  std::string twice;
  for (const char c : text) twice += std::string(c == quote ? 2 : 1, c);
  return twice;
}

class pl_pgsql final : public dialect {
 public:
  explicit pl_pgsql(const layout& which) : layout_(which) {}

  std::string spell(type t) const override {
    switch (t) {
      case type::number:
        return "bigint";
      case type::token:
        return "numeric(20)";
      case type::name:
      case type::id:
      case type::bytes:
        return "bytea";
      case type::text:
        return "text";
      case type::job:
        return "varchar(64)";
      case type::moment:
        return "timestamp";
      case type::locker:
        return "varchar(255)";
    }
    throw std::logic_error("no such type");
  }

  std::string table(std::string_view name) const override { return postgresql::table(layout_, name); }

  std::string replace(std::string_view word, std::string_view rest) const override {
    const std::string more(rest);
    // Never now(): that is when the transaction started.
    if (word == "now") return "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
    if (word == "set") return "";
    if (word == "loop") return "WHILE " + more + " LOOP";
    if (word == "end") return more.empty() ? "RETURN" : "END LOOP";
    if (word == "changed") return "GET DIAGNOSTICS " + more + " = ROW_COUNT";
    if (word == "insert") return "INSERT";
    if (word == "or") return "ON CONFLICT DO NOTHING";
    if (word == "returning") return "RETURNING " + more;
    if (word == "reread") return "";
    if (word == "hex") return "encode(" + more + ", 'hex')";
    // A client that listens holds its number; to try costs nothing, and what is got goes with the transaction.
    if (word == "listens") return "(" + more + " <> 0 AND NOT pg_try_advisory_xact_lock_shared(" + more + "))";
    if (word == "queue") return queue(more.substr(3));
    if (word == "first") return "pg_try_advisory_xact_lock" + turn(layout_, more);
    if (word == "tell") return tell(more);
    if (word == "forget") return forget(table(rest));
    if (word == "from") return "$1";
    if (word == "until") return "$2";
    if (word == "storage") return storage(more);
    if (word == "index") return "";  // it is made apart
    return replace_shared(word, more);
  }

 private:
  /// What is of ShedLock's table. A time without a zone is as far from 1970 as it says.
  static std::string replace_shared(std::string_view word, const std::string& more) {
    if (word == "key") return "convert_from(" + more + ", 'UTF8')";
    if (word == "bytes") return "convert_to(" + more + ", 'UTF8')";
    if (word == "micros") return "(extract(epoch FROM " + more + ") * 1000000)::bigint";
    if (word == "time") return "(timestamp '1970-01-01' + (" + more + ") * interval '1 microsecond')";
    if (word == "host") return "left(split_part(encode(" + more + ", 'escape'), chr(9), 2), 200)";
    if (word == "tab") return "chr(9)";
    if (word == "at")
      return "coalesce(nullif(current_setting('" + std::string(at_least) + "', true), ''), '0')::bigint";
    throw std::logic_error("PostgreSQL has no word for " + std::string(word));
  }

  static std::string tell(const std::string& who_and_what) {
    const auto comma = who_and_what.find(", ");
    const std::string who = who_and_what.substr(0, comma);
    // As a condition and not with PERFORM: that would be a statement more.
    return "IF " + who + " <> 0 AND pg_notify(concat('holdfast_', " + who + "), " + who_and_what.substr(comma + 2) +
           ") IS NULL THEN NULL; END IF";
  }

  // What another one forgets is left to it.
  static std::string forget(const std::string& rows) {
    return "DELETE FROM " + rows + " WHERE id IN (SELECT id FROM " + rows +
           " WHERE ends <= v_now ORDER BY ends LIMIT 500 FOR UPDATE SKIP LOCKED)";
  }

  // CASE, as that alone promises not to look at what comes after.
  std::string queue(const std::string& name_and_condition) const {
    const auto unless = name_and_condition.find(" unless ");
    const std::string waits =
        "pg_advisory_xact_lock" + turn(layout_, name_and_condition.substr(0, unless)) + " IS NULL";
    if (unless == name_and_condition.npos) return "IF " + waits + " THEN NULL; END IF";
    const std::string condition = name_and_condition.substr(unless + 8);
    return "IF (CASE WHEN " + condition + " THEN FALSE ELSE " + waits + " END) THEN NULL; END IF";
  }

  // Room on every page for the next version of its rows: an update then touches no index. And the few rows that are
  // changed all the time are tidied long before they are a fifth of the table.
  static std::string storage(std::string_view table) {
    if (table == "meta" || table == "fences") return "";
    if (table == "cells" || table == "done" || table == "shedlock") return "";
    return " WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500)";
  }

  const layout& layout_;
};

std::string create(const routine& r, const pl_pgsql& in) {
  std::string text = "CREATE OR REPLACE FUNCTION " + in.table(r.name) + "(";
  std::string_view comma;
  for (const variable& v : r.takes) {
    text += std::string(comma) + std::string(v.name) + " " + in.spell(v.holds);
    comma = ", ";
  }
  for (const variable& v : r.gives) text += ", OUT " + std::string(v.name) + " " + in.spell(v.holds);
  const std::string body = render(r.body, in);
  std::string code = "\nDECLARE\n";
  for (const variable& v : variables()) {
    const auto same = [&](const variable& other) { return other.name == v.name; };
    if (std::any_of(r.gives.begin(), r.gives.end(), same) || body.find(v.name) == body.npos) continue;
    code += "  " + std::string(v.name) + " " + in.spell(v.holds) + ";\n";
  }
  return text + ") LANGUAGE plpgsql AS " + dollar_quoted(code + "BEGIN" + body + "END ");
}

// MySQL has no arrays: this one is PostgreSQL's own. The answer has a digit for each.
std::string renew_all(const pl_pgsql& in) {
  return "CREATE OR REPLACE FUNCTION " + in.table("renew_all") +
         "(p_names bytea[], p_owners bytea[], p_ttls bigint[], OUT o_done text) LANGUAGE plpgsql AS " +
         dollar_quoted(
             "\nBEGIN\n"
             "  o_done = '';\n"
             "  FOR i IN 1 .. cardinality(p_names) LOOP\n"
             "    o_done = o_done || " +
             in.table("renew") +
             "(p_names[i], p_owners[i], p_ttls[i]);\n"
             "  END LOOP;\n"
             "END ");
}

}  // namespace

std::string dollar_quoted(const std::string& text) {
  std::string tag = "$holdfast$";
  while (text.find(tag) != text.npos) tag.insert(1, "x");
  return tag + text + tag;
}

std::string quoted(std::string_view name) { return '"' + doubled(name, '"') + '"'; }

std::string turn(const layout& which, std::string_view name) {
  const std::string whose = quoted(which.schema) + which.prefix;
  return "(hashtext('" + doubled(whose, '\'') + "'), hashtext(encode(" + std::string(name) + ", 'hex')))";
}

layout unquoted(layout which) {
  for (std::string* name : {&which.schema, &which.prefix, &which.shedlock})
    std::transform(name->begin(), name->end(), name->begin(), [](unsigned char c) { return std::tolower(c); });
  return which;
}

std::string table(const layout& which, std::string_view name) {
  const std::string schema = quoted(which.schema) + ".";
  if (name == "shedlock") return schema + quoted(which.shedlock);
  return schema + (which.prefix.empty() ? std::string(name) : quoted(which.prefix + std::string(name)));
}

std::vector<std::string> statements(const layout& which) {
  const pl_pgsql in(which);
  std::vector<std::string> all{"CREATE SCHEMA IF NOT EXISTS " + quoted(which.schema)};
  if (which.shares()) all.push_back(create(shedlock_table(), in));
  for (const sql::table& t : tables_of(which)) all.push_back(create(t, in));
  if (!which.shares()) all.push_back("CREATE INDEX IF NOT EXISTS done_ends ON " + in.table("done") + "(ends)");
  for (const routine& r : routines_of(which)) all.push_back(create(r, in));
  all.push_back(renew_all(in));
  if (!which.shares())
    for (auto& one : session_routines(which)) all.push_back(std::move(one));
  const std::string version = std::to_string(schema_version);
  all.push_back("INSERT INTO " + in.table("meta") + "(what, number) VALUES('version', " + version +
                ") ON CONFLICT(what) DO UPDATE SET number = excluded.number");
  return all;
}

std::vector<std::string> grants(const layout& which, std::string_view role) {
  const std::string where = quoted(which.schema);
  const std::string to = " TO " + quoted(role);
  std::vector<std::string> all{"GRANT USAGE ON SCHEMA " + where + to};
  if (!which.shares()) {
    all.push_back("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " + where + to);
    all.push_back("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA " + where + to);
    return all;
  }
  // There is more in that schema than is ours. And functions may be called by everybody.
  all.push_back("GRANT SELECT, INSERT, UPDATE ON " + table(which, "shedlock") + to);
  for (const sql::table& t : tables_of(which))
    all.push_back("GRANT SELECT, INSERT, UPDATE, DELETE ON " + table(which, t.name) + to);
  return all;
}

std::string script(const layout& which, std::string_view role) {
  std::string text = "BEGIN;\nSELECT pg_advisory_xact_lock(" + std::string(making_lock) + ");\n\n";
  for (const auto& one : statements(which)) text += one + ";\n\n";
  if (!role.empty())
    for (const auto& one : grants(which, role)) text += one + ";\n";
  return text + "COMMIT;\n";
}

std::string inspection(const layout& which) {
  const pl_pgsql in(which);
  return render(which.shares() ? text::shed_inspection : text::inspection, in);
}

}  // namespace holdfast::sql::postgresql
