#include "mysql_error.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace holdfast::mysql {

namespace {

struct meaning {
  unsigned number;
  errc code;
  std::string_view text;
};

constexpr std::string_view lacks_right =
    "the user lacks a right; let a DBA run what `holdfast ddl mysql --role USER` prints";

constexpr std::array meanings{
    // It will pass: the engine asks again, and every routine may be asked again.
    meaning{1213, errc::unavailable, "the server ended it as the victim of a deadlock"},
    meaning{1205, errc::unavailable, "somebody else keeps the row locked"},
    meaning{1317, errc::unavailable, "it was interrupted"},
    meaning{1927, errc::unavailable, "the connection was killed"},
    meaning{1053, errc::unavailable, "the server is stopping"},
    meaning{1040, errc::unavailable, "the server has no room for another connection (max_connections)"},
    meaning{1203, errc::unavailable, "the user has too many connections (max_user_connections)"},
    meaning{1226, errc::unavailable, "the user has used up what it may"},
    meaning{1290, errc::unavailable, "the server is read-only, or runs with an option that forbids it"},
    meaning{1792, errc::unavailable, "the server's transactions are read-only"},
    meaning{1836, errc::unavailable, "the server is read-only"},
    meaning{1969, errc::unavailable, "the server ended it for taking too long (max_statement_time)"},
    meaning{3024, errc::unavailable, "the server ended it for taking too long (max_execution_time)"},
    meaning{1180, errc::unavailable, "the server could not commit it"},
    meaning{1020, errc::unavailable, "the server could not put it in order with others"},
    meaning{1412, errc::unavailable, "the tables were changed meanwhile"},
    meaning{4031, errc::unavailable, "the connection was idle for too long"},
    meaning{2002, errc::unavailable, "there is no server"},
    meaning{2003, errc::unavailable, "there is no server"},
    meaning{2005, errc::unavailable, "the host is not known"},
    meaning{2006, errc::unavailable, "the server has gone away"},
    meaning{2013, errc::unavailable, "the connection was lost"},
    // It needs somebody.
    meaning{1021, errc::rejected, "the server's disk is full"},
    meaning{1114, errc::rejected, "a table is full"},
    meaning{1037, errc::rejected, "the server is out of memory"},
    meaning{1041, errc::rejected, "the server is out of memory"},
    meaning{1153, errc::rejected, "it is larger than the server takes (max_allowed_packet)"},
    meaning{1665, errc::rejected, "binlog_format is STATEMENT: set it to MIXED or ROW"},
    meaning{1129, errc::rejected, "the server has blocked this host"},
    meaning{1130, errc::rejected, "the server does not let this host in"},
    meaning{1045, errc::rejected, "the server does not know this user and password"},
    meaning{1698, errc::rejected, "the server does not know this user and password"},
    meaning{1049, errc::rejected, "the server has no such database"},
    meaning{1044, errc::rejected, lacks_right},
    meaning{1142, errc::rejected, lacks_right},
    meaning{1143, errc::rejected, lacks_right},
    meaning{1227, errc::rejected, lacks_right},
    meaning{1370, errc::rejected, lacks_right},
    meaning{1146, errc::rejected, "a table is gone; connecting again makes it, or `holdfast ddl mysql` does"},
    meaning{1305, errc::rejected, "a routine is gone; connecting again makes it, or `holdfast ddl mysql` does"},
    meaning{2026, errc::rejected, "TLS failed"},
    meaning{2059, errc::rejected, "the driver lacks the server's way to authenticate"},
};

bool of_driver(unsigned number) { return (number >= 2000 && number < 3000) || (number >= 5000 && number < 6000); }

}  // namespace

failure failure_of(unsigned number, std::string_view words) {
  std::string shown(words);
  std::replace(shown.begin(), shown.end(), '\n', ' ');
  shown += " (" + std::to_string(number) + ")";
  const auto* known =
      std::find_if(meanings.begin(), meanings.end(), [&](const meaning& m) { return m.number == number; });
  if (known != meanings.end()) return {known->code, std::string(known->text) + ": " + shown};
  if (of_driver(number)) return {errc::unavailable, "the connection failed: " + shown};
  return {errc::rejected, "the server refused it: " + shown};
}

bool ends_connection(unsigned number) noexcept {
  return of_driver(number) || number == 1927 || number == 1053 || number == 1153 || number == 4031;
}

bool leaves_transaction_open(unsigned number) noexcept { return number == 1317 || number == 1969 || number == 3024; }

bool deadlock_victim(unsigned number) noexcept { return number == 1213; }

bool row_kept(const failure& why) { return why.detail.ends_with("(1205)"); }

}  // namespace holdfast::mysql
