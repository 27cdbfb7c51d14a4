#include "zookeeper_backend.hpp"

#include <utility>

namespace holdfast::zookeeper {

namespace {

bool is_count(spi::kind k) noexcept { return k == spi::kind::semaphore || k == spi::kind::latch; }

}  // namespace

result<std::unique_ptr<spi::backend>> zookeeper_backend::open(settings where, spi::runtime& engine) {
  auto store = std::make_unique<zookeeper_backend>(std::move(where), engine);
  if (auto good = store->session_.open(); !good) return good.error();
  return std::unique_ptr<spi::backend>(std::move(store));
}

zookeeper_backend::zookeeper_backend(settings where, spi::runtime& engine)
    : engine_(engine),
      deadlines_(std::make_shared<deadlines>(engine)),
      session_(std::move(where), engine, ears()),
      desk_(session_, engine),
      registers_(session_, engine),
      cells_(session_),
      inspection_(session_),
      observers_(session_) {}

/// Answers under way come while it closes, to what is still there.
zookeeper_backend::~zookeeper_backend() { session_.close(); }

session::listener zookeeper_backend::ears() {
  return {.connected =
              [this] {
                desk_.on_connected();
                registers_.wake_all();
                observers_.look_everywhere();
              },
          .suspended = [this] { desk_.on_suspended(); },
          .ended =
              [this] {
                desk_.on_ended();
                registers_.wake_all();
              },
          .heard =
              [this](change what, const std::string& path) {
                desk_.on_change(what, path);
                registers_.on_change(path);
                observers_.on_change(what, path);
              }};
}

void zookeeper_backend::enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) {
  const spi::claim& c = request.claim;
  if (c.kind == spi::kind::permits && c.permits > c.limit) {
    return done(failure{errc::invalid_argument, "'" + c.name + "': " + std::to_string(c.permits) +
                                                    " permits asked for where there are " + std::to_string(c.limit)});
  }
  auto guarded = deadlines_->guard(std::move(done));
  if (is_count(c.kind)) return registers_.enter(request, std::move(guarded));
  desk_.enter(request, std::move(guarded));
}

void zookeeper_backend::watch(const spi::claim& queued, spi::completion<spi::wake> done) {
  if (is_count(queued.kind)) return registers_.watch(queued, std::move(done));
  desk_.watch(queued, std::move(done));
}

void zookeeper_backend::leave(const spi::claim& ours, spi::caller, spi::completion<bool> done) {
  auto guarded = deadlines_->guard(std::move(done));
  if (is_count(ours.kind)) return registers_.leave(ours, std::move(guarded));
  desk_.leave(ours, std::move(guarded));
}

void zookeeper_backend::renew(const std::vector<spi::claim>& held,
                              spi::completion<std::vector<spi::renewal_outcome>> done) {
  desk_.renew(held, deadlines_->guard(std::move(done)));
}

void zookeeper_backend::convert(const spi::claim& held, spi::access to, spi::caller, spi::completion<bool> done) {
  desk_.convert(held, to, deadlines_->guard(std::move(done)));
}

void zookeeper_backend::count(const spi::count_request& request, spi::caller, spi::completion<spi::count_reply> done) {
  registers_.count(request, deadlines_->guard(std::move(done)));
}

void zookeeper_backend::load_cell(const std::string& name, spi::caller, spi::completion<spi::cell_value> done) {
  cells_.load(name, deadlines_->guard(std::move(done)));
}

void zookeeper_backend::exchange_cell(const std::string& name, std::uint64_t expected, std::string value,
                                      spi::owner_id id, spi::caller, spi::completion<bool> done) {
  cells_.exchange(name, expected, std::move(value), id, deadlines_->guard(std::move(done)));
}

void zookeeper_backend::admit(const std::string& name, fencing_token token, spi::caller,
                              spi::completion<fencing_token> done) {
  registers_.admit(name, token, deadlines_->guard(std::move(done)));
}

void zookeeper_backend::inspect(const std::string& prefix, spi::completion<std::vector<entry>> done) {
  inspection_.inspect(prefix, deadlines_->guard(std::move(done)));
}

void zookeeper_backend::evict(const std::string& name, spi::completion<bool> done) {
  inspection_.evict(name, deadlines_->guard(std::move(done)));
}

std::function<void()> zookeeper_backend::observe(const std::string& prefix, std::function<void()> changed) {
  return observers_.add(prefix, std::move(changed));
}

}  // namespace holdfast::zookeeper
