#include "advisory_store.hpp"

#include "advisory_key.hpp"
#include "pg_session.hpp"
#include "postgres_backend.hpp"
#include "session_backend.hpp"
#include "statements.hpp"

#include <utility>

namespace holdfast::postgres {

namespace {

class advisory_store final : public sql::session_store {
 public:
  advisory_store(settings where, spi::runtime& engine)
      : where_(std::move(where)),
        engine_(engine),
        say_(session_statements_for(where_.tables)),
        tables_(where_, engine) {}

  result<void> prepare() { return tables_.prepare(); }

  spi::capabilities supports() const noexcept override { return sql::lease_backend::can; }
  bool holds_many() const noexcept override { return true; }
  std::size_t most_sessions() const noexcept override { return where_.connections; }
  bool by_session(spi::kind what) const noexcept override {
    return what == spi::kind::mutex || what == spi::kind::shared_mutex;
  }

  const sql::session_statements& say() const noexcept override { return say_; }
  std::string key_of(const std::string& name) const override { return postgres::key_of(name).text(); }
  void add_key(const std::string& name, sql::arguments& to) const override {
    const advisory_key key = postgres::key_of(name);
    to.add(static_cast<std::int64_t>(key.is)).add(key.high).add(key.low);
  }
  sql::arguments renewal_arguments(const std::vector<const spi::claim*>& claims) const override {
    return tables_.renewal_arguments(claims);
  }

  void open(sql::session_events tell, spi::completion<std::shared_ptr<sql::session>> done) override {
    engine_.post([this, tell = std::move(tell), done = std::move(done)]() mutable {
      done(pg_session::open(where_, engine_, tables_.take_first(), std::move(tell)));
    });
  }
  spi::backend& tables() override { return tables_; }
  sql::asking& aside() override { return tables_.aside(); }

 private:
  const settings where_;
  spi::runtime& engine_;
  const sql::session_statements say_;
  postgres_backend tables_;
};

}  // namespace

result<std::unique_ptr<spi::backend>> open_sessions(settings where, spi::runtime& engine) {
  auto store = std::make_unique<advisory_store>(std::move(where), engine);
  if (auto good = store->prepare(); !good) return good.error();
  return std::unique_ptr<spi::backend>(std::make_unique<sql::session_backend>(engine, std::move(store)));
}

}  // namespace holdfast::postgres
