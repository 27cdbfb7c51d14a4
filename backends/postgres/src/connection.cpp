#include "connection.hpp"

#include "postgresql.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <utility>

namespace holdfast::postgres {

namespace {

using namespace std::chrono_literals;

int milliseconds_until(connection::clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - connection::clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000));
}

/// What a session is to be like, whatever the server's or the role's defaults are.
///
/// READ COMMITTED: the routines count on seeing what was committed before they got the row. One that waits for a row
/// gives up before we give up on it: those behind it on the same connection get their turn, and the connection is
/// kept (a limit for the whole statement would cost each of them a timer). An idle connection of ours is not to be
/// killed for being idle; but one whose other end is gone without a word is not to last: who waits there is taken for
/// alive. Names mean what they mean in pg_catalog, whoever may make others elsewhere.
///
/// `condition` ends it: where that is false nothing is set.
std::string session_settings(PGconn* conn, const settings& where, spi::runtime& engine,
                             std::string_view condition = {}) {
  const auto whole = std::chrono::ceil<std::chrono::milliseconds>(engine.options().request_timeout);
  const auto patience =
      std::max<std::int64_t>(1, std::min(whole, std::max<std::chrono::milliseconds>(whole / 2, 250ms)).count());
  std::string text =
      "SELECT set_config('search_path', 'pg_catalog, pg_temp', false), "
      "set_config('standard_conforming_strings', 'on', false), "
      "set_config('client_encoding', 'UTF8', false), "
      "set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false), "
      "set_config('tcp_keepalives_count', '3', false), "
      "set_config('default_transaction_isolation', 'read committed', false), "
      "set_config('lock_timeout', '" +
      std::to_string(std::min<std::int64_t>(patience, 2'000'000'000)) +
      "', false), set_config('statement_timeout', '0', false), "
      "set_config('idle_in_transaction_session_timeout', '0', false)";
  // Every row is found by its key. Tables that are small at first and are changed all the time must not be planned for
  // otherwise, nor planned for again and again.
  text += ", set_config('enable_seqscan', 'off', false)";
  if (PQserverVersion(conn) >= 110000) text += ", set_config('jit', 'off', false)";
  if (PQserverVersion(conn) >= 120000) text += ", set_config('tcp_user_timeout', '25000', false)";
  if (PQserverVersion(conn) >= 120000) text += ", set_config('plan_cache_mode', 'force_generic_plan', false)";
  if (PQserverVersion(conn) >= 140000) text += ", set_config('idle_session_timeout', '0', false)";
  if (where.tables.shares())
    text += ", set_config('" + std::string(sql::postgresql::at_least) + "', '" +
            std::to_string(where.at_least.count()) + "', false)";
  return text.append(condition);
}

PGconn* start(const settings& where, const spi::runtime& engine) {
  std::vector<const char*> words;
  std::vector<const char*> values;
  const auto add = [&](const char* word, const char* value) {
    words.push_back(word);
    values.push_back(value);
  };
  const std::string name = "holdfast " + engine.who().client_name;
  // The first ones may be overridden by what the URL says.
  add("fallback_application_name", name.c_str());
  const std::string unanswered =
      std::to_string(std::chrono::ceil<std::chrono::milliseconds>(engine.options().request_timeout).count());
  add("tcp_user_timeout", unanswered.c_str());
  for (const auto& [word, value] : where.parameters) add(word.c_str(), value.c_str());
  add(nullptr, nullptr);
  return PQconnectStartParams(words.data(), values.data(), 0);
}

/// libpq obeys it only where it blocks.
std::chrono::nanoseconds connect_timeout_of(const settings& where) {
  for (const auto& [word, value] : where.parameters)
    if (const int seconds = std::atoi(value.c_str()); word == "connect_timeout" && seconds > 0)
      return std::chrono::seconds(seconds);
  return std::chrono::nanoseconds::max();
}

/// Nothing is to be printed by a library. A connection that nothing was asked on is ended with a notice, and some time
/// after that it is closed.
void hear_notice(void* dismissed, const PGresult* said) {
  const char* state = PQresultErrorField(said, PG_DIAG_SQLSTATE);
  if (state != nullptr && std::string_view(state).starts_with("57P")) *static_cast<bool*>(dismissed) = true;
}

/// Of a bytea in its text form.
std::string bytes_of(std::string_view shown) {
  if (shown.empty()) return {};
  std::size_t length = 0;
  unsigned char* made = PQunescapeBytea(reinterpret_cast<const unsigned char*>(shown.data()), &length);
  if (made == nullptr) throw std::bad_alloc();
  std::string out(reinterpret_cast<const char*>(made), length);
  PQfreemem(made);
  return out;
}

/// Of a record in its text form, with numbers only.
sql::rows fields_of(std::string_view record) {
  const auto inside = record.substr(1, record.size() - 2);
  sql::rows out(static_cast<int>(std::count(inside.begin(), inside.end(), ',')) + 1);
  for (auto rest = inside;;) {
    const auto comma = rest.find(',');
    out.add(rest.substr(0, comma));
    if (comma == rest.npos) return out;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

std::string_view rows::text(int row, int column) const noexcept {
  return {PQgetvalue(all_.get(), row, column), static_cast<std::size_t>(PQgetlength(all_.get(), row, column))};
}

std::int64_t rows::integer(int row, int column) const noexcept {
  const auto digits = text(row, column);
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

sql::rows rows::plain() const {
  constexpr Oid bytea = 17;
  constexpr Oid record = 2249;
  const int columns = PQnfields(all_.get());
  if (columns == 1 && size() == 1 && PQftype(all_.get(), 0) == record) return fields_of(text(0, 0));
  sql::rows out(columns);
  for (int row = 0; row < size(); ++row)
    for (int column = 0; column < columns; ++column)
      out.add(PQftype(all_.get(), column) == bytea ? bytes_of(text(row, column)) : std::string(text(row, column)));
  return out;
}

connection::connection(PGconn* made) : conn_(made), dismissed_(std::make_unique<bool>(false)), whose_(::getpid()) {
  if (conn_ != nullptr) PQsetNoticeReceiver(conn_, &hear_notice, dismissed_.get());
}

connection::connection(connection&& other) noexcept
    : conn_(std::exchange(other.conn_, nullptr)), dismissed_(std::move(other.dismissed_)), whose_(other.whose_) {}

connection& connection::operator=(connection&& other) noexcept {
  std::swap(conn_, other.conn_);
  std::swap(dismissed_, other.dismissed_);
  std::swap(whose_, other.whose_);
  return *this;
}

connection::~connection() {
  if (conn_ == nullptr) return;
  // In a forked child: to say good-bye would end the connection of the parent. Its memory is left alone.
  if (whose_ == ::getpid())
    PQfinish(conn_);
  else if (PQsocket(conn_) >= 0)
    ::close(PQsocket(conn_));
}

bool connection::stale() const noexcept {
  if (!good()) return true;
  // A notice or a changed setting is no harm; but what comes may be the last words.
  for (pollfd one{fd(), POLLIN, 0}; ::poll(&one, 1, 0) > 0;) {
    if (PQconsumeInput(conn_) == 0) return true;
    static_cast<void>(PQisBusy(conn_));  // takes it in
    if (!good()) return true;
  }
  return false;
}

bool connection::wait(short events, clock::time_point deadline) const noexcept {
  for (;;) {
    pollfd one{fd(), events, 0};
    const int ready = ::poll(&one, 1, milliseconds_until(deadline));
    if (ready > 0) return true;
    if (ready == 0 && clock::now() >= deadline) return false;
    if (ready < 0 && errno != EINTR) return false;
  }
}

result<rows> connection::run(const std::string& text, clock::time_point deadline) {
  if (PQsendQuery(conn_, text.c_str()) == 0) return failure_of(conn_);
  rows last;
  std::optional<failure> why;
  for (;;) {
    while (PQisBusy(conn_) != 0) {
      if (!wait(POLLIN, deadline)) return failure{errc::unavailable, "the server did not answer in time"};
      if (PQconsumeInput(conn_) == 0) return failure_of(conn_);
    }
    rows next(PQgetResult(conn_));
    if (next.raw() == nullptr) break;
    if (PQresultStatus(next.raw()) == PGRES_FATAL_ERROR && !why) why = failure_of(next.raw());
    last = std::move(next);
  }
  if (why) return *why;
  return last;
}

failure broken(const settings& where, std::string_view what) {
  return {errc::unavailable, "postgresql " + where.shown() + ": " + std::string(what)};
}

namespace {

/// Connected, and nothing asked yet.
result<connection> reach(const settings& where, spi::runtime& engine, connection::clock::time_point deadline) {
  connection made(start(where, engine));
  if (!made) return broken(where, "no memory for a connection");
  auto next = PGRES_POLLING_WRITING;
  while (next != PGRES_POLLING_OK) {
    if (PQstatus(made.get()) == CONNECTION_BAD || next == PGRES_POLLING_FAILED)
      return failure_of_connecting(made.get(), where.shown());
    if (!made.wait(next == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline))
      return broken(where, "connecting took too long");
    next = PQconnectPoll(made.get());
  }
  return made;
}

/// Something stands between us and the server. Does it give each client a session of its own?
///
/// A pool that lends out sessions per transaction lends the one that came back last: two clients that ask in turn meet
/// in one session. If others are about, each is sent from one to another.
result<void> refuse_shared_sessions(connection& first, const settings& where, spi::runtime& engine,
                                    connection::clock::time_point deadline) {
  auto second = reach(where, engine, deadline);
  if (!second) return second.error();
  std::int64_t sessions[2] = {0, 0};
  for (int turn = 0; turn < 6; ++turn) {
    auto said = (turn % 2 == 0 ? first : *second).run("SELECT pg_catalog.pg_backend_pid()", deadline);
    if (!said) return broken(where, "the pooler in between gave us no session: " + said.error().detail);
    const std::int64_t found = said->integer(0, 0);
    std::int64_t& own = sessions[turn % 2];
    if (found == sessions[1 - turn % 2] || (own != 0 && own != found))
      return failure{errc::rejected,
                     "postgresql " + where.shown() +
                         ": a connection pooler is in between that lends out sessions per transaction (PgBouncer's "
                         "pool_mode=transaction or statement); what Holdfast prepares, listens to and holds belongs to "
                         "a session: connect to the server itself, or to a pool with pool_mode=session"};
    own = found;
  }
  return {};
}

result<connection> dial_one(const settings& where, spi::runtime& engine, connection::clock::time_point deadline) {
  auto made = reach(where, engine, deadline);
  if (!made) return made;
  // A pooler makes up the number of the process. In a session that is not ours nothing may be set: others would find it
  // so. That costs no round trip where there is none.
  const std::string direct = " WHERE pg_catalog.pg_backend_pid() = " + std::to_string(PQbackendPID(made->get()));
  auto set = made->run(session_settings(made->get(), where, engine, direct), deadline);
  if (set && set->size() == 0) {
    if (auto ours = refuse_shared_sessions(*made, where, engine, deadline); !ours) return ours.error();
    set = made->run(session_settings(made->get(), where, engine), deadline);
  }
  if (!set) return set.error();
  return made;
}

}  // namespace

result<connection> dial(const settings& where, spi::runtime& engine, std::chrono::nanoseconds limit) {
  const auto deadline = connection::clock::now() + limit;
  const auto hosts = where.each_host();
  const auto patience = connect_timeout_of(where);
  const std::size_t first = *where.last_good % hosts.size();
  failure why{errc::unavailable, ""};
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::size_t which = (first + i) % hosts.size();
    // Each has its share of what time is left.
    const auto now = connection::clock::now();
    const auto share = std::max<std::chrono::nanoseconds>(deadline - now, 0ns) / static_cast<int>(hosts.size() - i);
    auto made = dial_one(hosts[which], engine, now + std::min<std::chrono::nanoseconds>(share, patience));
    if (made) {
      *where.last_good = which;
      return made;
    }
    // What needs somebody says more than what may pass.
    if (i == 0 || made.error().code != errc::unavailable) why = made.error();
  }
  return why;
}

}  // namespace holdfast::postgres
