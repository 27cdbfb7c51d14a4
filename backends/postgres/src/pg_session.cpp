#include "pg_session.hpp"

#include <utility>

namespace holdfast::postgres {

namespace {

/// Below 0, as those of connections that only listen are above.
std::int64_t random_number() {
  const auto id = spi::owner_id::random();
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 8; ++i) bits = bits << 8 | id.bytes[i];
  return -static_cast<std::int64_t>((bits >> 1) | 1);
}

/// What makes a connection a session of ours: it holds its number, so that others see that it is there, and is told
/// things by it. A waiter whose client is gone is not to wait on; a holder that is silent is ended after its ttl, and
/// not by keepalives before that. What it commits need not be on the disk: the locks end with the server, and tokens go
/// on above the time. The answer is the number of its process, which a pooler in between makes up for libpq.
std::string preparation(PGconn* conn, std::int64_t number) {
  const std::string digits = std::to_string(number);
  std::string text = "SELECT pg_catalog.pg_advisory_lock(" + digits + "); LISTEN \"holdfast_" + digits +
                     "\"; SET synchronous_commit = off";
  if (PQserverVersion(conn) >= 140000)
    text +=
        "; SET client_connection_check_interval = '1s'; SET tcp_user_timeout = 0; SET tcp_keepalives_idle = 0; "
        "SET tcp_keepalives_interval = 0; SET tcp_keepalives_count = 0";
  return text + "; SELECT pg_catalog.pg_backend_pid()";
}

}  // namespace

result<std::shared_ptr<sql::session>> pg_session::open(const settings& where, spi::runtime& engine, connection made,
                                                       sql::session_events tell) {
  const auto limit = engine.options().connect_timeout;
  if (!made || made.stale()) {
    auto fresh = dial(where, engine, limit);
    if (!fresh) return fresh.error();
    made = std::move(*fresh);
  }
  const std::int64_t number = random_number();
  const auto set = made.run(preparation(made.get(), number), connection::clock::now() + limit);
  if (!set) return set.error();
  const std::int64_t process = set->integer(0, 0);
  auto over = std::make_shared<link>(where, engine, link::only_session{std::move(tell.told), std::move(tell.ended)});
  if (auto taken = over->take_over(std::move(made)); !taken) return taken.error();
  return std::shared_ptr<sql::session>(std::make_shared<pg_session>(std::move(over), number, process));
}

void pg_session::ask(const sql::statement& what, sql::arguments with, spi::caller from, patience how, answer told) {
  if (how == patience::usual) return over_->ask(what, std::move(with), from, std::move(told));
  over_->ask_until(spi::time_point::max(), what, std::move(with), from, std::move(told));
}

}  // namespace holdfast::postgres
