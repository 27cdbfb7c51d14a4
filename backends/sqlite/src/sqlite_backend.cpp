#include "sqlite_backend.hpp"

namespace holdfast::sqlite {

void sqlite_backend::enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) {
  switch (request.caller) {
    case spi::caller::waits:
      if (request.queue) return done(store_->enter_and_wait(request));
      [[fallthrough]];
    case spi::caller::may_block:
      return done(store_->enter(request));
    case spi::caller::must_not_block:
      break;
  }
  engine_.post([&s = *store_, request, done = std::move(done)]() mutable { done(s.enter(request)); });
}

void sqlite_backend::watch(const spi::claim& queued, spi::completion<spi::wake> done) {
  store_->watch(queued, std::move(done));
}

void sqlite_backend::leave(const spi::claim& ours, spi::caller from, spi::completion<bool> done) {
  if (from != spi::caller::must_not_block) return done(store_->leave(ours));
  engine_.post([&s = *store_, ours, done = std::move(done)]() mutable { done(s.leave(ours)); });
}

void sqlite_backend::renew(const std::vector<spi::claim>& held,
                           spi::completion<std::vector<spi::renewal_outcome>> done) {
  done(store_->renew(held));
}

void sqlite_backend::convert(const spi::claim& held, spi::access to, spi::caller from, spi::completion<bool> done) {
  if (from != spi::caller::must_not_block) return done(store_->convert(held, to));
  engine_.post([&s = *store_, held, to, done = std::move(done)]() mutable { done(s.convert(held, to)); });
}

void sqlite_backend::raise(const spi::claim& held, fencing_token floor, spi::caller from, spi::completion<bool> done) {
  if (from != spi::caller::must_not_block) return done(store_->raise(held, floor));
  engine_.post([&s = *store_, held, floor, done = std::move(done)]() mutable { done(s.raise(held, floor)); });
}

void sqlite_backend::count(const spi::count_request& request, spi::caller from,
                           spi::completion<spi::count_reply> done) {
  if (from != spi::caller::must_not_block) return done(store_->count(request));
  engine_.post([&s = *store_, request, done = std::move(done)]() mutable { done(s.count(request)); });
}

void sqlite_backend::load_cell(const std::string& name, spi::caller from, spi::completion<spi::cell_value> done) {
  if (from != spi::caller::must_not_block) return done(store_->load_cell(name));
  engine_.post([&s = *store_, name, done = std::move(done)]() mutable { done(s.load_cell(name)); });
}

void sqlite_backend::exchange_cell(const std::string& name, std::uint64_t expected, std::string value, spi::owner_id id,
                                   spi::caller from, spi::completion<bool> done) {
  if (from != spi::caller::must_not_block) return done(store_->exchange_cell(name, expected, value, id));
  engine_.post([&s = *store_, name, expected, value = std::move(value), id, done = std::move(done)]() mutable {
    done(s.exchange_cell(name, expected, value, id));
  });
}

void sqlite_backend::admit(const std::string& name, fencing_token token, spi::caller from,
                           spi::completion<fencing_token> done) {
  if (from != spi::caller::must_not_block) return done(store_->admit(name, token));
  engine_.post([&s = *store_, name, token, done = std::move(done)]() mutable { done(s.admit(name, token)); });
}

void sqlite_backend::inspect(const std::string& prefix, spi::completion<std::vector<entry>> done) {
  engine_.post([&s = *store_, prefix, done = std::move(done)]() mutable { done(s.inspect(prefix)); });
}

void sqlite_backend::evict(const std::string& name, spi::completion<bool> done) {
  engine_.post([&s = *store_, name, done = std::move(done)]() mutable { done(s.evict(name)); });
}

std::function<void()> sqlite_backend::observe(const std::string&, std::function<void()> changed) {
  return store_->observe(std::move(changed));
}

}  // namespace holdfast::sqlite
