#include "sqlite_fixture.hpp"

namespace holdfast::sqlite_tests {

result<std::unique_ptr<spi::backend>> open_store(const std::string& url, spi::runtime& engine) {
  auto where = uri::parse(url);
  if (!where) return where.error();
  for (const auto& known : spi::all_backends()) {
    if (known.scheme == where->scheme && known.make != nullptr) return known.make(*where, engine);
  }
  return {errc::unsupported, "no backend for " + url};
}

sqlite_client::sqlite_client(const movable_clock& clock, const std::string& url, std::string name)
    : runtime_(std::make_unique<threaded_runtime>(clock, std::move(name))) {
  auto made = open_store(url, *runtime_);
  if (!made) throw error(made.error(), "connect", url);
  backend_ = std::move(*made);
}

sqlite_client::~sqlite_client() {
  runtime_->shut_down();
  backend_.reset();
}

result<spi::entry_result> sqlite_client::enter(const spi::claim& c, line l, spi::caller from, std::uint32_t tokens) {
  answer<spi::entry_result> got;
  backend_->enter({c, l == line::join, tokens, from}, got.slot());
  return got.wait();
}

spi::granted sqlite_client::take(const spi::claim& c, std::uint32_t tokens) {
  const auto got = enter(c, line::join, spi::caller::may_block, tokens);
  if (!is_granted(got)) {
    ADD_FAILURE() << "'" << c.name << "' was not granted" << (got ? "" : ": " + got.error().detail);
    return {};
  }
  return std::get<spi::granted>(*got);
}

void sqlite_client::queue(const spi::claim& c) {
  const auto got = enter(c);
  EXPECT_TRUE(is_busy(got)) << "'" << c.name << "' did not have to wait" << (got ? "" : ": " + got.error().detail);
}

answer<spi::wake> sqlite_client::watch(const spi::claim& c) {
  answer<spi::wake> got;
  backend_->watch(c, got.slot());
  return got;
}

bool sqlite_client::leave(const spi::claim& c) {
  answer<bool> got;
  backend_->leave(c, spi::caller::may_block, got.slot());
  return got.wait().value();
}

spi::renewal_outcome sqlite_client::renew(const spi::claim& c) {
  answer<std::vector<spi::renewal_outcome>> got;
  backend_->renew({c}, got.slot());
  return got.wait().value().at(0);
}

result<bool> sqlite_client::convert(const spi::claim& c, spi::access to) {
  answer<bool> got;
  backend_->convert(c, to, spi::caller::may_block, got.slot());
  return got.wait();
}

result<spi::count_reply> sqlite_client::count(const std::string& name, spi::kind kind, spi::count_request::op what,
                                              std::int64_t amount, spi::owner_id id) {
  answer<spi::count_reply> got;
  backend_->count({name, kind, what, amount, id}, spi::caller::may_block, got.slot());
  return got.wait();
}

std::vector<entry> sqlite_client::inspect(const std::string& prefix) {
  answer<std::vector<entry>> got;
  backend_->inspect(prefix, got.slot());
  return got.wait().value();
}

bool sqlite_client::evict(const std::string& name) {
  answer<bool> got;
  backend_->evict(name, got.slot());
  return got.wait().value();
}

spi::claim mutex_claim(std::string name, std::chrono::nanoseconds ttl) {
  spi::claim c;
  c.name = std::move(name);
  c.id = spi::owner_id::random();
  c.ttl = ttl;
  return c;
}

spi::claim shared_claim(std::string name, spi::access access, std::chrono::nanoseconds ttl) {
  spi::claim c = mutex_claim(std::move(name), ttl);
  c.kind = spi::kind::shared_mutex;
  c.access = access;
  return c;
}

spi::claim permit_claim(std::string name, std::uint32_t permits, std::uint32_t limit) {
  spi::claim c = mutex_claim(std::move(name));
  c.kind = spi::kind::permits;
  c.permits = permits;
  c.limit = limit;
  return c;
}

bool is_granted(const result<spi::entry_result>& r) { return r && std::holds_alternative<spi::granted>(*r); }
bool is_busy(const result<spi::entry_result>& r) { return r && std::holds_alternative<spi::busy>(*r); }

}  // namespace holdfast::sqlite_tests
