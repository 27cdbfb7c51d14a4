#include "mysql_backend.hpp"

#include "doctor.hpp"
#include "mysql_error.hpp"
#include "refusals.hpp"
#include "schema.hpp"
#include "statements.hpp"

#include <algorithm>
#include <cstdlib>

namespace holdfast::mysql {

namespace {

/// The lowest `bytes` of a number, the highest of them first.
void append(std::string& to, std::uint64_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) to += static_cast<char>((number >> shift) & 0xff);
}

}  // namespace

result<std::unique_ptr<spi::backend>> mysql_backend::open(settings where, spi::runtime& engine) {
  auto store = std::make_unique<mysql_backend>(std::move(where), engine);
  if (auto good = store->prepare(); !good) return good.error();
  return std::unique_ptr<spi::backend>(std::move(store));
}

mysql_backend::mysql_backend(settings where, spi::runtime& engine)
    : lease_backend(engine, statements_for(where.tables), where.tables),
      where_(std::move(where)),
      // They are called by threads that are gone before this is: the reactor, and those lent by who waits.
      ears_(std::make_shared<mysql::ears>(
          where_, engine, mysql::ears::callbacks{[this](auto letter) { on_message(letter); }, [this] { on_gap(); }})) {
  for (auto& one : links_) one = std::make_shared<mysql::link>(where_, engine_);
}

result<void> mysql_backend::prepare() {
  const auto limit = engine_.options().connect_timeout;
  const auto deadline = connection::clock::now() + limit;
  auto made = dial(where_, engine_, limit);
  if (!made) return made.error();
  if (auto good = make_schema(*made, where_, deadline); !good) return good;
  auto called = identity_of(*made, where_, deadline);
  if (!called) return called.error();
  identity_ = std::move(*called);
  const auto sent = engine_.now();
  auto clock = made->run("SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)", deadline);
  if (!clock) return clock.error();
  hear_clock(clock->integer(0, 0), sent);
  first_ = std::move(*made);
  return {};
}

sql::asking& mysql_backend::link(std::size_t index) {
  mysql::link& chosen = *links_[index];
  if (!first_used_.load(std::memory_order_relaxed) && !first_used_.exchange(true))
    if (auto good = chosen.take_over(std::move(first_)); !good) engine_.log(log_level::warning, good.error().detail);
  return chosen;
}

sql::arguments mysql_backend::renewal_arguments(const std::vector<const spi::claim*>& claims) const {
  std::string all;
  for (const spi::claim* one : claims) {
    const auto ttl = std::chrono::duration_cast<std::chrono::microseconds>(one->ttl).count();
    all += sql::bytes_of(one->id);
    append(all, static_cast<std::uint64_t>(ttl), 8);
    append(all, one->name.size(), 2);
    all += one->name;
  }
  sql::arguments with;
  with.add_bytes(std::move(all));
  return with;
}

bool mysql_backend::row_kept(const failure& why) const { return mysql::row_kept(why); }

/// On a connection of its own: it may take long.
void mysql_backend::examine(spi::completion<std::vector<finding>> done) {
  engine_.post([this, done = std::move(done)]() mutable {
    const auto limit = engine_.options().request_timeout;
    const auto deadline = connection::clock::now() + limit;
    auto over = dial(where_, engine_, limit);
    if (!over) return done(over.error());
    symptoms seen;
    using std::chrono::microseconds;
    const auto before = std::chrono::system_clock::now();
    for (const std::string& text : {question(where_.tables), std::string("SHOW GLOBAL VARIABLES")}) {
      const auto said = over->run(text, deadline);
      if (!said) return done(said.error());
      for (int row = 0; row < said->size(); ++row) seen.said.emplace(said->text(row, 0), said->text(row, 1));
      if (seen.doubt != microseconds(0)) continue;
      const auto after = std::chrono::system_clock::now();
      const microseconds server(std::atoll(seen.said["clock"].c_str()));
      seen.ahead = server - std::chrono::duration_cast<microseconds>(after.time_since_epoch());
      seen.doubt = std::max(microseconds(1), std::chrono::duration_cast<microseconds>(after - before));
    }
    done(judge(seen, where_.tables));
  });
}

}  // namespace holdfast::mysql
