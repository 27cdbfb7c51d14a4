#include "etcd_backend.hpp"

#include "inspection.hpp"
#include "renewals.hpp"

#include <algorithm>

namespace holdfast::etcd {

using namespace std::chrono_literals;

namespace {

bool in_line(spi::kind k) { return k == spi::kind::mutex || k == spi::kind::shared_mutex; }

}  // namespace

result<std::unique_ptr<spi::backend>> etcd_backend::open(const settings& where, spi::runtime& engine) {
  if (!process_guard::usable())
    return failure{errc::unsupported,
                   "this process was forked from one that uses etcd, and gRPC does not work in such a child: run a "
                   "program in it (exec), or fork before the first connect"};
  if (process_guard::ending()) return failure{errc::unavailable, "the process ends"};
  auto store = std::make_unique<etcd_backend>(where, engine);
  if (auto good = store->reach(); !good) return good.error();
  return std::unique_ptr<spi::backend>(std::move(store));
}

etcd_backend::etcd_backend(const settings& where, spi::runtime& engine)
    : all_(std::make_shared<desks>(where, engine)),
      office_(all_->middle),
      lines_(all_->lines),
      numbers_(all_->numbers),
      pools_(all_->pools) {}

etcd_backend::~etcd_backend() {
  if (process_guard::ending())
    process_guard::keep(std::move(all_));
  else
    office_.shut_down();
}

/// Asks one after the other, until one has answered or the time is over.
result<void> etcd_backend::reach() {
  auto& all = office_.through.cluster();
  const auto limit = office_.engine.options().connect_timeout;
  const auto give_up = office_.engine.now() + limit;
  const auto each = limit / static_cast<long>(all.size());
  failure why{errc::unavailable, "etcd " + office_.where.shown() + ": no answer"};
  for (std::size_t asked = 0; asked < all.size(); ++asked) {
    const auto left = std::min(each, give_up - office_.engine.now());
    const auto index = all.current();
    auto logged_in = office_.through.log_in(left);
    if (logged_in) {
      auto said = office_.through.ask_member(index, methods::status, {}, left);
      if (said) {
        cluster_id_ = said->header().cluster_id();
        return {};
      }
      why = said.error();
      all.failed(index);
    } else {
      why = logged_in.error();
    }
    if (why.code != errc::unavailable) return why;
  }
  return why;
}

spi::capabilities etcd_backend::supports() const noexcept {
  auto all = can;
  all.raise_token = office_.where.tokens == token_source::block;
  return all;
}

std::string etcd_backend::identity() const {
  return "etcd:" + std::to_string(cluster_id_) + "/" + office_.where.prefix;
}

void etcd_backend::enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) {
  const spi::claim& c = request.claim;
  if (c.kind == spi::kind::permits && c.permits > c.limit) {
    return done(failure{errc::invalid_argument, "'" + c.name + "': " + std::to_string(c.permits) +
                                                    " permits asked for where there are " + std::to_string(c.limit)});
  }
  auto j = std::make_shared<asking>();
  j->t = office_.tickets.open(request.claim);
  // What only takes from a number has no grant that a late release could end.
  const bool has_keys = in_line(c.kind) || c.kind == spi::kind::permits;
  if (has_keys && j->t->tried_to_leave) j->t = office_.begin_anew(j->t);
  j->request = request;
  j->done = std::move(done);
  if (in_line(c.kind)) return lines_.enter(j);
  pools_.enter(j);
}

void etcd_backend::watch(const spi::claim& queued, spi::completion<spi::wake> done) {
  const auto t = office_.tickets.find(queued.id);
  if (!t) return done(spi::wake(spi::look_again{}));
  office_.tickets.watch(t, std::move(done));
}

void etcd_backend::leave(const spi::claim& ours, spi::caller from, spi::completion<bool> done) {
  const auto t = office_.tickets.find(ours.id);
  if (!t && ours.kind == spi::kind::semaphore) return pools_.leave(ours, from, std::move(done));
  if (!t) return done(false);
  if (!in_line(ours.kind)) return pools_.leave(t, from, std::move(done));
  if (t->key.empty()) {  // it never got as far as having one
    office_.close(t);
    return done(false);
  }
  lines_.leave(t, from, std::move(done));
}

void etcd_backend::renew(const std::vector<spi::claim>& held, spi::completion<std::vector<spi::renewal_outcome>> done) {
  std::make_shared<renewals>(office_, held, std::move(done))->start();
}

void etcd_backend::convert(const spi::claim& held, spi::access to, spi::caller from, spi::completion<bool> done) {
  const auto t = office_.tickets.find(held.id);
  if (!t) return done(failure{errc::lost, "the store does not know this lease any more"});
  lines_.convert(t, to, from, std::move(done));
}

void etcd_backend::raise(const spi::claim& held, fencing_token floor, spi::caller from, spi::completion<bool> done) {
  const auto t = office_.tickets.find(held.id);
  if (!t) return done(failure{errc::lost, "the store does not know this lease any more"});
  lines_.raise(t, floor, from, std::move(done));
}

void etcd_backend::count(const spi::count_request& request, spi::caller from, spi::completion<spi::count_reply> done) {
  numbers_.count(request, from, std::move(done));
}

void etcd_backend::load_cell(const std::string& name, spi::caller from, spi::completion<spi::cell_value> done) {
  numbers_.load_cell(name, from, std::move(done));
}

void etcd_backend::exchange_cell(const std::string& name, std::uint64_t expected, std::string value, spi::owner_id id,
                                 spi::caller from, spi::completion<bool> done) {
  numbers_.exchange_cell(name, expected, value, id, from, std::move(done));
}

void etcd_backend::admit(const std::string& name, fencing_token token, spi::caller from,
                         spi::completion<fencing_token> done) {
  numbers_.admit(name, token, from, std::move(done));
}

void etcd_backend::inspect(const std::string& prefix, spi::completion<std::vector<entry>> done) {
  std::make_shared<inspection>(office_, prefix, std::move(done))->start();
}

std::function<void()> etcd_backend::observe(const std::string& prefix, std::function<void()> changed) {
  const watches::listener tell{[changed](std::int64_t) { changed(); }, [changed](const mvccpb::Event&) { changed(); },
                               [this, prefix](const failure& why) {
                                 office_.engine.log(log_level::warning, "watching '" + prefix + "': " + why.detail);
                               }};
  const auto lines = office_.names.lines_below(prefix);
  const auto others = office_.names.others_below(prefix);
  const auto one = office_.events->open(lines.first, lines.end, watches::wanted::everything, tell);
  const auto two = office_.events->open(others.first, others.end, watches::wanted::everything, tell);
  return [events = office_.events, one, two] {
    events->close(one);
    events->close(two);
  };
}

}  // namespace holdfast::etcd
