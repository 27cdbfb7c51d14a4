#include "shedlock_table.hpp"

namespace holdfast::sql {

namespace {

enum column : int { called, type, decimals, collation };

/// Without a zone, or it would mean something else to a session in another; and as fine as ShedLock counts.
bool keeps_time(const rows& columns, int row) {
  const std::string& is = columns.text(row, type);
  return (is == "timestamp without time zone" || is == "timestamp" || is == "datetime") &&
         columns.integer(row, decimals) >= 3;
}

}  // namespace

std::string shedlock_columns(std::string_view schema, std::string_view table) {
  return "SELECT column_name, data_type, datetime_precision, collation_name FROM information_schema.columns WHERE "
         "table_schema = " +
         std::string(schema) + " AND table_name = " + std::string(table);
}

result<std::string> check_shedlock(const rows& columns, const std::string& shown) {
  if (columns.size() == 0) return std::string();
  std::string found;
  for (const std::string_view wanted : {"lock_until", "locked_at", "locked_by", "name"}) {
    int row = 0;
    while (row < columns.size() && columns.text(row, called) != wanted) ++row;
    const std::string which = "table '" + shown + "', column '" + std::string(wanted) + "': ";
    if (row == columns.size())
      return failure{errc::rejected, which +
                                         "is not there, or this user may not see it; ShedLock's table has name, "
                                         "lock_until, locked_at and locked_by"};
    if ((wanted == "lock_until" || wanted == "locked_at") && !keeps_time(columns, row))
      return failure{errc::rejected, which + "is a " + columns.text(row, type) + " with " +
                                         columns.text(row, decimals) +
                                         " decimals; ShedLock needs a timestamp without time zone (MySQL: timestamp(3) "
                                         "or datetime(3)), to the millisecond"};
    found = columns.text(row, collation);
  }
  return found;  // of the last one, the name
}

void judge_shedlock(std::int64_t ahead, const std::string& shown, std::vector<finding>& found) {
  if (ahead > 0) {
    found.push_back({finding::level::danger,
                     std::to_string(ahead) + " of the locks in ShedLock's table '" + shown +
                         "' were taken later than it is: some client writes its own clock or its own time zone, and "
                         "locks end too early or too late; configure ShedLock with usingDbTime()"});
    return;
  }
  found.push_back({finding::level::fact,
                   "locks are kept in ShedLock's table '" + shown +
                       "', by the server's clock in UTC: every ShedLock that shares it must be configured with "
                       "usingDbTime()"});
}

}  // namespace holdfast::sql
