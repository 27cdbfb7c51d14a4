#include "postgres_backend.hpp"

#include "doctor.hpp"
#include "pg_error.hpp"
#include "refusals.hpp"
#include "schema.hpp"
#include "statements.hpp"

#include <cstdlib>

namespace holdfast::postgres {

namespace {

/// `\\x6162` as an element of an array in its text form.
void append_element(std::string& array, std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  array += array.size() == 1 ? "\"\\\\x" : ",\"\\\\x";
  for (const char c : bytes) {
    array += digits[static_cast<unsigned char>(c) >> 4];
    array += digits[static_cast<unsigned char>(c) & 15];
  }
  array += '"';
}

}  // namespace

result<std::unique_ptr<spi::backend>> postgres_backend::open(settings where, spi::runtime& engine) {
  auto store = std::make_unique<postgres_backend>(std::move(where), engine);
  if (auto good = store->prepare(); !good) return good.error();
  return std::unique_ptr<spi::backend>(std::move(store));
}

postgres_backend::postgres_backend(settings where, spi::runtime& engine)
    : lease_backend(engine, statements_for(where.tables), where.tables),
      where_(std::move(where)),
      // They are called by threads that are gone before this is: the reactor, and those lent by who waits.
      ears_(std::make_shared<postgres::ears>(
          where_, engine,
          postgres::ears::callbacks{[this](auto letter) { on_message(letter); }, [this] { on_gap(); }})) {
  for (auto& one : links_) one = std::make_shared<postgres::link>(where_, engine_);
}

result<void> postgres_backend::prepare() {
  const auto limit = engine_.options().connect_timeout;
  const auto deadline = connection::clock::now() + limit;
  auto made = dial(where_, engine_, limit);
  if (!made) return made.error();
  if (auto good = make_schema(*made, where_, deadline); !good) return good;
  // The same for every way to the database; who may not ask that is known by its address.
  auto cluster = made->run("SELECT system_identifier, current_database() FROM pg_control_system()", deadline);
  if (!cluster && cluster.error().code == errc::unavailable) return cluster.error();  // it would be another next time
  identity_ = "postgresql:" + (cluster && cluster->size() == 1
                                   ? std::string(cluster->text(0, 0)) + "/" + std::string(cluster->text(0, 1))
                                   : where_.shown());
  identity_ += "/" + where_.tables.schema;
  if (where_.tables.shares()) identity_ += "/" + where_.tables.shedlock;
  const auto sent = engine_.now();
  auto clock = made->run("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint", deadline);
  if (!clock) return clock.error();
  hear_clock(clock->integer(0, 0), sent);
  first_ = std::move(*made);
  return {};
}

sql::asking& postgres_backend::link(std::size_t index) {
  postgres::link& chosen = *links_[index];
  if (!first_used_.load(std::memory_order_relaxed) && !first_used_.exchange(true))
    if (auto good = chosen.take_over(std::move(first_)); !good) engine_.log(log_level::warning, good.error().detail);
  return chosen;
}

sql::arguments postgres_backend::renewal_arguments(const std::vector<const spi::claim*>& claims) const {
  std::string names = "{";
  std::string owners = "{";
  std::string ttls = "{";
  for (const spi::claim* one : claims) {
    const auto ttl = std::chrono::duration_cast<std::chrono::microseconds>(one->ttl);
    append_element(names, one->name);
    append_element(owners, sql::bytes_of(one->id));
    ttls += (ttls.size() == 1 ? "" : ",") + std::to_string(ttl.count());
  }
  sql::arguments with;
  with.add_text(names + "}").add_text(owners + "}").add_text(ttls + "}");
  return with;
}

bool postgres_backend::row_kept(const failure& why) const { return postgres::row_kept(why); }

/// On a connection of its own: what stands in between shows itself there.
void postgres_backend::examine(spi::completion<std::vector<finding>> done) {
  engine_.post([this, done = std::move(done)]() mutable {
    const auto limit = engine_.options().request_timeout;
    const auto deadline = connection::clock::now() + limit;
    auto over = dial(where_, engine_, limit);
    if (!over) return done(over.error());
    const auto before = std::chrono::system_clock::now();
    const auto said = over->run(question(where_.tables), deadline);
    if (!said) return done(said.error());
    const auto after = std::chrono::system_clock::now();
    symptoms seen;
    for (int column = 0; column < PQnfields(said->raw()); ++column)
      seen.said.emplace(PQfname(said->raw(), column), said->text(0, column));
    using std::chrono::microseconds;
    const microseconds server(std::atoll(seen.said["clock"].c_str()));
    seen.ahead = server - std::chrono::duration_cast<microseconds>(after.time_since_epoch());
    seen.doubt = std::chrono::duration_cast<microseconds>(after - before);
    seen.pooled = std::to_string(PQbackendPID(over->get())) != seen.said["pid"];
    done(judge(seen, where_.tables));
  });
}

}  // namespace holdfast::postgres
