#include "mysql.hpp"

#include "dialect.hpp"
#include "routine_text.hpp"
#include "routines.hpp"
#include "tables.hpp"

#include <algorithm>
#include <stdexcept>

namespace holdfast::sql::mysql {

namespace {

class sql_psm final : public dialect {
 public:
  explicit sql_psm(const layout& which) : layout_(which) {}

  std::string spell(type t) const override {
    switch (t) {
      case type::number:
        return "bigint";
      case type::token:
        return "bigint unsigned";
      case type::name:
        return "varbinary(512)";
      case type::id:
        return "varbinary(16)";
      case type::bytes:
        return "longblob";
      case type::text:
        return "varchar(1000)";
      case type::job:
        return "varchar(64) CHARACTER SET utf8mb4 COLLATE " + std::string(usual_collation);
      case type::moment:
        return "datetime(3)";
      case type::locker:
        return "varchar(255)";
    }
    throw std::logic_error("no such type");
  }

  std::string table(std::string_view name) const override { return mysql::table(layout_, name); }

  std::string replace(std::string_view word, std::string_view rest) const override {
    const std::string more(rest);
    if (word == "now") return now();
    if (word == "set") return "SET";
    if (word == "loop") return "WHILE " + more + " DO";
    if (word == "end") return more.empty() ? "LEAVE work" : "END WHILE";
    if (word == "changed") return "SET " + more + " = ROW_COUNT()";
    // Not INSERT IGNORE: that leaves two who come second with a shared lock each, and the next step of both is a
    // deadlock.
    if (word == "insert") return "INSERT";
    if (word == "or") return unchanged(more);
    if (word == "returning") return "";
    if (word == "reread") return more;
    if (word == "hex") return "HEX(" + more + ")";
    // A client that listens holds the lock of its number.
    if (word == "listens") return "(" + more + " <> 0 AND " + ear_of(more) + " IS NOT NULL)";
    // InnoDB gives out rows in turn.
    if (word == "queue") return "DO 0";
    if (word == "first") return "TRUE";
    if (word == "tell") return tell(more);
    if (word == "forget") return "DELETE FROM " + table(rest) + " WHERE ends <= v_now ORDER BY ends LIMIT 500";
    if (word == "from") return "p_from";
    if (word == "until") return "p_until";
    if (word == "storage") return " ENGINE=InnoDB ROW_FORMAT=DYNAMIC";
    if (word == "index") return rest == "done" ? ",\n  INDEX done_ends(ends)" : "";
    return replace_shared(word, more);
  }

  /// The number of the connection that listens as `client`.
  static std::string ear_of(const std::string& client) {
    return "IS_USED_LOCK(CONCAT('" + std::string(ear_lock) + "', " + client + "))";
  }

 private:
  /// Never now(): that may be when the statement started. Sessions of ours are in UTC. Beside ShedLock's table they are
  /// not: there it is when this very step of the procedure started.
  std::string now() const {
    if (layout_.shares()) return micros("UTC_TIMESTAMP(6)");
    return "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)";
  }

  static std::string micros(const std::string& time) {
    return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', " + time + ")";
  }

  /// What is of ShedLock's table. Its key is compared as the column is: in another collation no index would be used,
  /// and what is inserted would be found to be there but not found.
  std::string replace_shared(std::string_view word, const std::string& more) const {
    const std::string charset = layout_.collation.substr(0, layout_.collation.find('_'));
    if (word == "key")
      return "(CONVERT(CONVERT(" + more + " USING utf8mb4) USING " + charset + ") COLLATE " + layout_.collation + ")";
    if (word == "bytes") return "CAST(CONVERT(" + more + " USING utf8mb4) AS BINARY)";
    if (word == "micros") return micros(more);
    if (word == "time") return "(TIMESTAMP('1970-01-01') + INTERVAL (" + more + ") MICROSECOND)";
    if (word == "host")
      return "LEFT(CONVERT(SUBSTRING_INDEX(SUBSTRING_INDEX(" + more + ", CHAR(9), 2), CHAR(9), -1) USING ascii), 200)";
    if (word == "tab") return "CHAR(9)";
    if (word == "at") return "COALESCE(" + std::string(at_least) + ", 0)";
    throw std::logic_error("MySQL has no word for " + std::string(word));
  }

  static std::string unchanged(const std::string& leave_key) {
    const std::string key = leave_key.substr(leave_key.rfind(' ') + 1);
    return "ON DUPLICATE KEY UPDATE " + key + " = " + key;
  }

  /// A letter, and after the end of the transaction whoever it is for is woken.
  std::string tell(const std::string& who_and_what) const {
    const auto comma = who_and_what.find(", ");
    const std::string who = who_and_what.substr(0, comma);
    return "IF " + who + " <> 0 THEN INSERT INTO " + table(mail) + "(client, letter, written) VALUES(" + who + ", " +
           who_and_what.substr(comma + 2) + ", v_now); IF FIND_IN_SET(" + who +
           ", v_told) = 0 THEN SET v_told = CONCAT(" + who + ", ',', v_told); END IF; END IF";
  }

  const layout& layout_;
};

/// Of a routine or fragment of one.
struct shape {
  std::string_view name;
  std::vector<variable> takes;
  std::vector<variable> gives;
  std::vector<variable> keeps;  ///< Variables that no other routine has.
  std::string body;
};

// Who was told is waiting in SLEEP(): to be interrupted is what wakes it. That it is gone, or belongs to another user,
// is no concern of ours: it looks by itself now and then.
std::string wake_all() {
  return R"sql(
  WHILE v_told <> '' DO
    SET v_ear = )sql" +
         sql_psm::ear_of("SUBSTRING_INDEX(v_told, ',', 1)") +
         R"sql(;
    SET v_told = SUBSTRING(v_told, LENGTH(SUBSTRING_INDEX(v_told, ',', 1)) + 2);
    IF v_ear IS NOT NULL THEN
      BEGIN
        DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
        KILL QUERY v_ear;
      END;
    END IF;
  END WHILE;)sql";
}

std::string declarations(const shape& r, const sql_psm& in) {
  std::string text;
  const auto declare = [&](const variable& v) {
    text += "  DECLARE " + std::string(v.name) + " " + in.spell(v.holds) + ";\n";
  };
  for (const variable& v : r.gives) declare(v);
  for (const variable& v : r.keeps) declare(v);
  for (const variable& v : variables()) {
    const auto same = [&](const variable& other) { return other.name == v.name; };
    if (std::any_of(r.gives.begin(), r.gives.end(), same) || r.body.find(v.name) == r.body.npos) continue;
    declare(v);
  }
  if (r.body.find("v_told") != r.body.npos)
    text += "  DECLARE v_told mediumtext DEFAULT '';\n  DECLARE v_ear bigint;\n";
  return text;
}

std::string create(const shape& r, const sql_psm& in) {
  std::string text = "CREATE PROCEDURE " + in.table(r.name) + "(";
  std::string_view comma;
  for (const variable& v : r.takes) {
    text += std::string(comma) + "IN " + std::string(v.name) + " " + in.spell(v.holds);
    comma = ", ";
  }
  text += ")\n  MODIFIES SQL DATA SQL SECURITY INVOKER\nBEGIN\n" + declarations(r, in) +
          "  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;\n"
          "  START TRANSACTION;\n  work: BEGIN" +
          r.body + "  END;\n  COMMIT;";
  if (r.body.find("v_told") != r.body.npos) text += wake_all();
  comma = "\n  SELECT ";
  for (const variable& v : r.gives) {
    text += std::string(comma) + std::string(v.name);
    comma = ", ";
  }
  return text + ";\nEND";
}

// MySQL has no arrays: the claims come one behind the other.
shape renewal_of_all(const layout& which, const sql_psm& in) {
  const routine& one = routine_called("renew", which);
  std::string body = R"sql(
  SET o_all = '';
  SET v_at = 1;
  WHILE v_at <= LENGTH(p_claims) DO
    SET p_owner = SUBSTRING(p_claims, v_at, 16);
    SET p_ttl = CONV(HEX(SUBSTRING(p_claims, v_at + 16, 8)), 16, 10);
    SET v_n = CONV(HEX(SUBSTRING(p_claims, v_at + 24, 2)), 16, 10);
    SET p_name = SUBSTRING(p_claims, v_at + 26, v_n);
    SET v_at = v_at + 26 + v_n;)sql" +
                     render(one.body, in) + R"sql(
    SET o_all = CONCAT(o_all, o_done);
  END WHILE;
)sql";
  std::vector<variable> keeps = one.takes;
  keeps.insert(keeps.end(), one.gives.begin(), one.gives.end());
  keeps.push_back({"v_at", type::number});
  return {renew_all, {{"p_claims", type::bytes}}, {{"o_all", type::text}}, keeps, std::move(body)};
}

std::vector<shape> shapes(const layout& which, const sql_psm& in) {
  std::vector<shape> all;
  for (const routine& r : routines_of(which)) all.push_back({r.name, r.takes, r.gives, {}, render(r.body, in)});
  all.push_back(renewal_of_all(which, in));
  return all;
}

std::string literal(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string({'\\', c}) : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string quoted(std::string_view name) {
  std::string text = "`";
  for (const char c : name) text += c == '`' ? std::string("``") : std::string(1, c);
  return text + "`";
}

bool is_prefix(std::string_view text) {
  return text.size() <= 40 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

std::string table(const layout& which, std::string_view name) {
  const std::string place = which.schema.empty() ? "" : quoted(which.schema) + ".";
  return place + quoted(name == "shedlock" ? which.shedlock : which.prefix + std::string(name));
}

std::string version_key(const layout& which) {
  return which.collation.empty() ? "version" : "version for " + which.collation;
}

std::vector<std::string> statements(const layout& which) {
  const sql_psm in(which);
  std::vector<std::string> all;
  if (which.shares()) all.push_back(sql::create(shedlock_table(), in));
  for (const sql::table& t : tables_of(which)) all.push_back(sql::create(t, in));
  all.push_back("CREATE TABLE IF NOT EXISTS " + in.table(mail) +
                "(\n  seq bigint unsigned NOT NULL AUTO_INCREMENT,\n  client bigint NOT NULL,\n"
                "  letter varbinary(1200) NOT NULL,\n  written bigint NOT NULL,\n  PRIMARY KEY(seq),\n"
                "  INDEX mail_client(client)\n)" +
                in.replace("storage", mail));
  for (const shape& r : shapes(which, in)) {
    all.push_back("DROP PROCEDURE IF EXISTS " + in.table(r.name));
    all.push_back(create(r, in));
  }
  all.push_back("DROP PROCEDURE IF EXISTS " + in.table(inspect));
  all.push_back("CREATE PROCEDURE " + in.table(inspect) +
                "(IN p_from varbinary(513), IN p_until varbinary(513))\n"
                "  READS SQL DATA SQL SECURITY INVOKER" +
                render(which.shares() ? text::shed_inspection : text::inspection, in));
  // By which clients know that two ways lead to the same tables: servers have no such number that all can ask for.
  all.push_back("INSERT INTO " + in.table("meta") +
                "(what, number) VALUES('identity', CAST(CONV(SUBSTRING(SHA2(CONCAT(UUID(), RAND()), 256), 1, 15), 16, "
                "10) AS SIGNED)) ON DUPLICATE KEY UPDATE what = what");
  const std::string version = std::to_string(schema_version);
  // The routines are of one collation: those of another are no more.
  if (which.shares()) all.push_back("DELETE FROM " + in.table("meta") + " WHERE what LIKE 'version%'");
  all.push_back("INSERT INTO " + in.table("meta") + "(what, number) VALUES(" + literal(version_key(which)) + ", " +
                version + ") ON DUPLICATE KEY UPDATE number = " + version);
  return all;
}

std::vector<std::string> grants(const layout& which, std::string_view account) {
  const sql_psm in(which);
  const auto at = account.rfind('@');
  const std::string to =
      " TO " + literal(account.substr(0, at)) + "@" + (at == account.npos ? "'%'" : literal(account.substr(at + 1)));
  std::vector<std::string> all;
  if (which.shares()) all.push_back("GRANT SELECT, INSERT, UPDATE ON " + in.table("shedlock") + to);
  for (const sql::table& t : tables_of(which))
    all.push_back("GRANT SELECT, INSERT, UPDATE, DELETE ON " + in.table(t.name) + to);
  all.push_back("GRANT SELECT, INSERT, UPDATE, DELETE ON " + in.table(mail) + to);
  for (const shape& r : shapes(which, in)) all.push_back("GRANT EXECUTE ON PROCEDURE " + in.table(r.name) + to);
  all.push_back("GRANT EXECUTE ON PROCEDURE " + in.table(inspect) + to);
  return all;
}

std::string script(const layout& which, std::string_view account) {
  const std::string lock = literal(making_lock);
  std::string text = "SET sql_mode = " + literal(sql_mode) + ";\nDELIMITER //\nDO GET_LOCK(" + lock + ", 60)//\n\n";
  for (const auto& one : statements(which)) text += one + "//\n\n";
  if (!account.empty())
    for (const auto& one : grants(which, account)) text += one + "//\n";
  return text + "DO RELEASE_LOCK(" + lock + ")//\nDELIMITER ;\n";
}

}  // namespace holdfast::sql::mysql
