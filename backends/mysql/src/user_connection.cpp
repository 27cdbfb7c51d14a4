#include <holdfast/mysql.hpp>

#include <mysql.h>

#include <array>
#include <string_view>

namespace holdfast::mysql {

namespace {

struct close_statement {
  void operator()(MYSQL_STMT* one) const noexcept { mysql_stmt_close(one); }
};
using prepared = std::unique_ptr<MYSQL_STMT, close_statement>;

struct free_result {
  void operator()(MYSQL_RES* one) const noexcept { mysql_free_result(one); }
};
using result_set = std::unique_ptr<MYSQL_RES, free_result>;

sql::reply refused(unsigned number, const char* words) { return {{}, 0, sql::refusal{std::to_string(number), words}}; }

/// Numbers as numbers, so that the server compares them as such.
std::vector<MYSQL_BIND> bound(const std::vector<sql::value>& values, std::vector<long long>& numbers,
                              std::vector<unsigned long>& lengths) {
  std::vector<MYSQL_BIND> all(values.size(), MYSQL_BIND{});
  numbers.resize(values.size());
  lengths.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string& text = values[i].text();
    MYSQL_BIND& one = all[i];
    const auto form = values[i].is();
    if (form == sql::value::form::null) {
      one.buffer_type = MYSQL_TYPE_NULL;
    } else if (form == sql::value::form::text || form == sql::value::form::bytes) {
      one.buffer_type = form == sql::value::form::text ? MYSQL_TYPE_STRING : MYSQL_TYPE_BLOB;
      one.buffer = const_cast<char*>(text.data());
      one.buffer_length = lengths[i] = text.size();
      one.length = &lengths[i];
    } else {
      one.buffer_type = MYSQL_TYPE_LONGLONG;
      one.is_unsigned = form == sql::value::form::unsigned_integer ? 1 : 0;
      numbers[i] = one.is_unsigned != 0 ? static_cast<long long>(std::stoull(text)) : std::stoll(text);
      one.buffer = &numbers[i];
    }
  }
  return all;
}

/// The rows of a prepared statement, each value as text.
class fetching {
 public:
  explicit fetching(MYSQL_STMT* from) : from_(from), columns_(mysql_stmt_field_count(from)), into_(columns_) {
    std::vector<MYSQL_BIND> all(columns_, MYSQL_BIND{});
    for (std::size_t i = 0; i < columns_; ++i) {
      all[i].buffer_type = MYSQL_TYPE_STRING;
      all[i].buffer = into_[i].room.data();
      all[i].buffer_length = into_[i].room.size();
      all[i].length = &into_[i].length;
      all[i].is_null = &into_[i].null;
    }
    good_ = mysql_stmt_bind_result(from_, all.data()) == 0 && mysql_stmt_store_result(from_) == 0;
  }

  /// False: it failed.
  bool all_into(std::vector<sql::row>& rows) {
    while (good_) {
      const int next = mysql_stmt_fetch(from_);
      if (next == MYSQL_NO_DATA) return true;
      if (next != 0 && next != MYSQL_DATA_TRUNCATED) return false;
      auto& made = rows.emplace_back();
      for (std::size_t i = 0; i < columns_; ++i) made.push_back(cell(i));
    }
    return false;
  }

 private:
  struct place {
    std::array<char, 64> room{};
    unsigned long length = 0;
    my_bool null = 0;
  };

  std::optional<std::string> cell(std::size_t column) {
    const place& here = into_[column];
    if (here.null != 0) return std::nullopt;
    if (here.length <= here.room.size()) return std::string(here.room.data(), here.length);
    std::string whole(here.length, '\0');
    unsigned long length = 0;
    MYSQL_BIND again{};
    again.buffer_type = MYSQL_TYPE_STRING;
    again.buffer = whole.data();
    again.buffer_length = whole.size();
    again.length = &length;
    mysql_stmt_fetch_column(from_, &again, static_cast<unsigned>(column), 0);
    return whole;
  }

  MYSQL_STMT* from_;
  std::size_t columns_;
  std::vector<place> into_;
  bool good_ = false;
};

class user_connection final : public sql::connection {
 public:
  explicit user_connection(MYSQL* yours) : conn_(yours) {}

  sql::flavour speaks() const override {
    const std::string_view server = mysql_get_server_info(conn_);
    return server.find("MariaDB") == server.npos ? sql::flavour::mysql : sql::flavour::mariadb;
  }

  sql::transaction_state state() override {
    // An error does not say whether the transaction has survived it; whatever comes next does.
    // Nor do we know of those that its owner had without us, but that the last one was one.
    if ((in_doubt_ || mysql_errno(conn_) != 0) && mysql_query(conn_, "DO 0") == 0) in_doubt_ = false;
    unsigned status = 0;
    mariadb_get_infov(conn_, MARIADB_CONNECTION_SERVER_STATUS, &status);
    const bool open = (status & SERVER_STATUS_IN_TRANS) != 0 || (status & SERVER_STATUS_AUTOCOMMIT) == 0;
    return open ? sql::transaction_state::open : sql::transaction_state::none;
  }

  sql::reply execute(const std::string& statement, const std::vector<sql::value>& values) override {
    sql::reply got = values.empty() ? plain(statement) : with_values(statement, values);
    in_doubt_ = got.refused.has_value();
    return got;
  }

 private:
  sql::reply plain(const std::string& statement) {
    if (mysql_real_query(conn_, statement.data(), statement.size()) != 0)
      return refused(mysql_errno(conn_), mysql_error(conn_));
    const result_set all(mysql_store_result(conn_));
    sql::reply got;
    if (all == nullptr) {
      if (mysql_field_count(conn_) != 0) return refused(mysql_errno(conn_), mysql_error(conn_));
      got.affected = mysql_affected_rows(conn_);
      return got;
    }
    const unsigned columns = mysql_num_fields(all.get());
    while (const MYSQL_ROW line = mysql_fetch_row(all.get())) {
      const unsigned long* lengths = mysql_fetch_lengths(all.get());
      auto& made = got.rows.emplace_back();
      for (unsigned i = 0; i < columns; ++i)
        made.push_back(line[i] == nullptr ? std::optional<std::string>() : std::string(line[i], lengths[i]));
    }
    return got;
  }

  sql::reply with_values(const std::string& statement, const std::vector<sql::value>& values) {
    const prepared one(mysql_stmt_init(conn_));
    if (one == nullptr) return refused(mysql_errno(conn_), mysql_error(conn_));
    std::vector<long long> numbers;
    std::vector<unsigned long> lengths;
    auto places = bound(values, numbers, lengths);
    // Prepared and executed in one round trip, where the server can.
    unsigned count = static_cast<unsigned>(values.size());
    mysql_stmt_attr_set(one.get(), STMT_ATTR_PREBIND_PARAMS, &count);
    if (mysql_stmt_bind_param(one.get(), places.data()) != 0 ||
        mariadb_stmt_execute_direct(one.get(), statement.data(), statement.size()) != 0)
      return refused(mysql_stmt_errno(one.get()), mysql_stmt_error(one.get()));
    sql::reply got;
    if (mysql_stmt_field_count(one.get()) == 0) {
      got.affected = mysql_stmt_affected_rows(one.get());
      return got;
    }
    if (!fetching(one.get()).all_into(got.rows))
      return refused(mysql_stmt_errno(one.get()), mysql_stmt_error(one.get()));
    return got;
  }

  MYSQL* conn_;
  bool in_doubt_ = false;
};

}  // namespace

std::unique_ptr<sql::connection> connection_of(st_mysql* yours) { return std::make_unique<user_connection>(yours); }

}  // namespace holdfast::mysql
