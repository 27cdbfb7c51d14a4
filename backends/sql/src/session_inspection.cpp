#include "session_backend.hpp"

#include <utility>

// Those who look, and those who take away.

namespace holdfast::sql {

using namespace std::chrono_literals;

namespace {

// A holder that lives gives back what is taken from it; after so long it is taken for stopped.
constexpr auto gives_back = 1s;
constexpr auto between_looks = 20ms;

}  // namespace

void session_backend::inspect(const std::string& prefix, spi::completion<std::vector<entry>> done) {
  store_->tables().inspect(prefix, std::move(done));
}

std::function<void()> session_backend::observe(const std::string& prefix, std::function<void()> changed) {
  return store_->tables().observe(prefix, std::move(changed));
}

void session_backend::examine(spi::completion<std::vector<finding>> done) { store_->tables().examine(std::move(done)); }

/// First from the tables, which tells the holder. The server goes on to hold it for the session until that gives it
/// back, and if it does not, ends the session; as that of a stranger, who is in no table.
void session_backend::evict(const std::string& name, spi::completion<bool> done) {
  arguments with;
  store_->add_key(name, with);
  store_->aside().ask(store_->say().processes, std::move(with), spi::caller::must_not_block,
                      [this, name, done = std::move(done)](const result<rows>& said) mutable {
                        if (!said) return done(said.error());
                        std::string processes = said->size() == 0 ? std::string() : said->text(0, 0);
                        store_->tables().evict(name, [this, name, processes = std::move(processes),
                                                      done = std::move(done)](const result<bool>& any) mutable {
                          if (!any || processes.empty()) return done(any);
                          on_evicted(name, std::move(processes), *any, std::move(done));
                        });
                      });
}

void session_backend::on_evicted(const std::string& name, std::string processes, bool any, spi::completion<bool> done) {
  if (!any) return terminate(name, std::move(processes), any, std::move(done));
  await_eviction(name, std::move(processes), engine_.now() + gives_back, std::move(done));
}

void session_backend::await_eviction(const std::string& name, std::string processes, spi::time_point until,
                                     spi::completion<bool> done) {
  arguments with;
  store_->add_key(name, with);
  with.add_bytes(name).add_text(processes);
  store_->aside().ask(store_->say().still_hold, std::move(with), spi::caller::must_not_block,
                      [this, name, processes, until, done = std::move(done)](const result<rows>& said) mutable {
                        if (!said) return done(said.error());
                        if (said->integer(0, 0) == 0) return done(true);
                        if (engine_.now() >= until) return terminate(name, std::move(processes), true, std::move(done));
                        engine_.at(engine_.now() + between_looks,
                                   [this, name, processes, until, done = std::move(done)]() mutable {
                                     await_eviction(name, std::move(processes), until, std::move(done));
                                   });
                      });
}

void session_backend::terminate(const std::string& name, std::string processes, bool any, spi::completion<bool> done) {
  arguments with;
  store_->add_key(name, with);
  with.add_text(std::move(processes));
  store_->aside().ask(store_->say().terminate, std::move(with), spi::caller::must_not_block,
                      [any, done = std::move(done)](const result<rows>& said) mutable {
                        if (!said) return done(said.error());
                        done(any || said->integer(0, 0) != 0);
                      });
}

}  // namespace holdfast::sql
