#include <holdfast/postgres.hpp>

#include <libpq-fe.h>

#include <charconv>
#include <string_view>

namespace holdfast::postgres {

namespace {

constexpr Oid bytea = 17;

struct clear {
  void operator()(PGresult* all) const noexcept { PQclear(all); }
};
using answer = std::unique_ptr<PGresult, clear>;

/// Parameters as libpq takes them. All but bytes are text, of whatever type the statement wants.
struct parameters {
  explicit parameters(const std::vector<sql::value>& all) {
    for (const sql::value& one : all) {
      const bool raw = one.is() == sql::value::form::bytes;
      types.push_back(raw ? bytea : 0);
      texts.push_back(one.is() == sql::value::form::null ? nullptr : one.text().data());
      lengths.push_back(static_cast<int>(one.text().size()));
      forms.push_back(raw ? 1 : 0);
    }
  }

  std::vector<Oid> types;
  std::vector<const char*> texts;
  std::vector<int> lengths;
  std::vector<int> forms;
};

std::string bytes_of(const char* shown) {
  std::size_t length = 0;
  unsigned char* made = PQunescapeBytea(reinterpret_cast<const unsigned char*>(shown), &length);
  if (made == nullptr) throw std::bad_alloc();
  std::string out(reinterpret_cast<const char*>(made), length);
  PQfreemem(made);
  return out;
}

std::optional<std::string> cell_of(const PGresult* from, int line, int column) {
  if (PQgetisnull(from, line, column) != 0) return std::nullopt;
  const char* text = PQgetvalue(from, line, column);
  if (PQftype(from, column) == bytea) return bytes_of(text);
  return std::string(text, static_cast<std::size_t>(PQgetlength(from, line, column)));
}

sql::reply rows_of(PGresult* from) {
  sql::reply all;
  for (int line = 0; line < PQntuples(from); ++line) {
    auto& made = all.rows.emplace_back();
    for (int column = 0; column < PQnfields(from); ++column) made.push_back(cell_of(from, line, column));
  }
  const std::string_view changed = PQcmdTuples(from);
  std::from_chars(changed.data(), changed.data() + changed.size(), all.affected);
  return all;
}

class user_connection final : public sql::connection {
 public:
  explicit user_connection(PGconn* yours) : conn_(yours) {}

  sql::flavour speaks() const override { return sql::flavour::postgresql; }

  sql::transaction_state state() override {
    switch (PQtransactionStatus(conn_)) {
      case PQTRANS_INTRANS:
      case PQTRANS_ACTIVE:
        return sql::transaction_state::open;
      case PQTRANS_INERROR:
        return sql::transaction_state::failed;
      case PQTRANS_IDLE:
      case PQTRANS_UNKNOWN:
        break;
    }
    return sql::transaction_state::none;
  }

  sql::reply execute(const std::string& statement, const std::vector<sql::value>& values) override {
    // Text ends at a zero byte here: rather than cut it off, it is refused, as the server would.
    for (const auto& one : values)
      if (one.is() == sql::value::form::text && one.text().find('\0') != std::string::npos)
        return refused("22021", "a text with a zero byte");
    const parameters with(values);
    const answer got(PQexecParams(conn_, statement.c_str(), static_cast<int>(values.size()), with.types.data(),
                                  with.texts.data(), with.lengths.data(), with.forms.data(), 0));
    switch (PQresultStatus(got.get())) {
      case PGRES_TUPLES_OK:
      case PGRES_COMMAND_OK:
      case PGRES_EMPTY_QUERY:
        return rows_of(got.get());
      default:
        return refused_by(got.get());
    }
  }

 private:
  static sql::reply refused(std::string code, std::string words) {
    return {{}, 0, sql::refusal{std::move(code), std::move(words)}};
  }

  sql::reply refused_by(const PGresult* what) const {
    const char* state = PQresultErrorField(what, PG_DIAG_SQLSTATE);
    const char* words = PQresultErrorField(what, PG_DIAG_MESSAGE_PRIMARY);
    if (state != nullptr) return refused(state, words == nullptr ? "" : words);
    if (PQstatus(conn_) == CONNECTION_BAD || what == nullptr) return refused("", PQerrorMessage(conn_));
    return refused("0A000", "a statement of this kind cannot be used here");  // COPY
  }

  PGconn* conn_;
};

}  // namespace

std::unique_ptr<sql::connection> connection_of(pg_conn* yours) { return std::make_unique<user_connection>(yours); }

}  // namespace holdfast::postgres
