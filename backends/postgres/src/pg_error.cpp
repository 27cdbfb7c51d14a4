#include "pg_error.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace holdfast::postgres {

namespace {

struct meaning {
  std::string_view state;  ///< Or its first two letters, which stand for the whole class.
  errc code;
  std::string_view text;
};

constexpr std::array meanings{
    // It will pass: the engine asks again, and every routine may be asked again.
    meaning{"40P01", errc::unavailable, "the server ended it as the victim of a deadlock"},
    meaning{"40001", errc::unavailable, "the server could not put it in order with others"},
    meaning{"40", errc::unavailable, "the server rolled it back"},
    meaning{"55P03", errc::unavailable, "somebody else keeps the row locked"},
    meaning{"57014", errc::unavailable, "it was cancelled"},
    meaning{"57P01", errc::unavailable, "the connection was ended by an administrator"},
    meaning{"57P02", errc::unavailable, "the server is starting again after a crash"},
    meaning{"57P03", errc::unavailable, "the server is starting or stopping"},
    meaning{"57P05", errc::unavailable, "the connection was idle for too long"},
    meaning{"53300", errc::unavailable, "the server has no room for another connection (max_connections)"},
    meaning{"25006", errc::unavailable, "the server is read-only: a standby, or default_transaction_read_only"},
    // Its name was lost (DISCARD ALL, or it was behind one that could not be prepared), or is there already.
    meaning{"26000", errc::unavailable, "the server does not know the prepared statement"},
    meaning{"42P05", errc::unavailable, "the server knows the prepared statement already"},
    meaning{"08", errc::unavailable, "the connection failed"},
    meaning{"XX000", errc::unavailable, "the server failed inside"},
    // It needs somebody.
    meaning{"53100", errc::rejected, "the server's disk is full"},
    meaning{"53200", errc::rejected, "the server is out of memory"},
    meaning{"53", errc::rejected, "the server lacks resources"},
    meaning{"28P01", errc::rejected, "the server does not know this user and password"},
    meaning{"28000", errc::rejected, "the server does not let this user in (pg_hba.conf)"},
    meaning{"3D000", errc::rejected, "the server has no such database"},
    meaning{"3F000", errc::rejected,
            "the schema is not there; connecting again makes it, or `holdfast ddl postgresql`"},
    meaning{"42501", errc::rejected,
            "the user lacks a right; let a DBA run what `holdfast ddl postgresql --role USER` prints"},
    meaning{"42P01", errc::rejected, "a table is gone; connecting again makes it, or `holdfast ddl postgresql` does"},
    meaning{"42883", errc::rejected, "a routine is gone; connecting again makes it, or `holdfast ddl postgresql` does"},
};

std::string first_line(std::string_view words) {
  while (words.ends_with('\n') || words.ends_with(' ')) words.remove_suffix(1);
  std::string out(words);
  std::replace(out.begin(), out.end(), '\n', ' ');
  return out;
}

const meaning* find(std::string_view state) {
  for (const auto& m : meanings)
    if (state == m.state || (m.state.size() == 2 && state.starts_with(m.state))) return &m;
  return nullptr;
}

std::string_view field(const PGresult* of, int which) {
  const char* text = PQresultErrorField(of, which);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

}  // namespace

failure failure_of(std::string_view sqlstate, std::string_view words) {
  const meaning* known = find(sqlstate);
  const std::string shown = first_line(words) + (sqlstate.empty() ? "" : " (SQLSTATE " + std::string(sqlstate) + ")");
  if (known == nullptr) {
    // Without a state it is libpq that speaks, and always of the connection.
    if (sqlstate.empty()) return {errc::unavailable, "the connection failed: " + shown};
    return {errc::rejected, "the server refused it: " + shown};
  }
  return {known->code, std::string(known->text) + ": " + shown};
}

std::string_view sqlstate(const PGresult* refused) { return field(refused, PG_DIAG_SQLSTATE); }

failure failure_of(const PGresult* refused) {
  const auto state = sqlstate(refused);
  const auto words = field(refused, PG_DIAG_MESSAGE_PRIMARY);
  return failure_of(state, words.empty() ? std::string_view(PQresultErrorMessage(refused)) : words);
}

bool row_kept(const failure& why) { return why.detail.ends_with("(SQLSTATE 55P03)"); }

failure failure_of(PGconn* broke) {
  return {errc::unavailable, "the connection failed: " + first_line(PQerrorMessage(broke))};
}

failure failure_of_connecting(PGconn* failed, const std::string& where) {
  // libpq keeps no SQLSTATE of a connection that is refused: the words must do, and they are the server's, in its
  // language. What is not known may pass.
  const std::string said = first_line(PQerrorMessage(failed));
  constexpr std::array signs{
      meaning{"password authentication failed", errc::rejected, "28P01"},
      meaning{"no password supplied", errc::rejected, "28P01"},
      meaning{"no pg_hba.conf entry", errc::rejected, "28000"},
      meaning{"authentication failed", errc::rejected, "28000"},
      meaning{"role \"", errc::rejected, "28000"},
      meaning{"database \"", errc::rejected, "3D000"},
      meaning{"permission denied for database", errc::rejected, "42501"},
      meaning{"certificate", errc::rejected, "TLS"},
      meaning{"does not support SSL", errc::rejected, "TLS"},
      meaning{"invalid ", errc::invalid_argument, "URL"},
      meaning{"definition of service", errc::invalid_argument, "URL"},
  };
  const auto known = std::find_if(signs.begin(), signs.end(), [&](const meaning& m) {
    if (said.find(m.state) == said.npos) return false;
    const bool named = m.state.ends_with('"');
    return !named || said.find("does not exist") != said.npos || said.find("not permitted") != said.npos;
  });
  const std::string text = "postgresql " + where + ": " + said;
  if (known == signs.end()) return {errc::unavailable, text};
  const meaning* meant = find(known->text);
  return {known->code, meant == nullptr ? text : std::string(meant->text) + ": " + text};
}

}  // namespace holdfast::postgres
