#include "store.hpp"

#include "schema.hpp"

#include <functional>
#include <utility>

namespace holdfast::sqlite {

namespace {

bool is_count(spi::kind k) noexcept { return k == spi::kind::semaphore || k == spi::kind::latch; }

/// A claim that is in the lock's own row when it is granted.
bool is_alone(const spi::claim& c) noexcept {
  return c.kind == spi::kind::mutex || (c.kind == spi::kind::shared_mutex && c.access == spi::access::exclusive);
}

spi::entry_result answer(const entry_outcome& outcome) {
  if (outcome.grant) return *outcome.grant;
  return spi::busy{outcome.look_again};
}

}  // namespace

result<std::shared_ptr<store>> store::open(uri where, spi::runtime& engine) {
  const auto deadline = connection::clock::now() + engine.options().connect_timeout;
  auto file = database_file::prepare(std::move(where));
  if (!file) return file.error();
  sidecar beside(*file);
  if (!beside.usable()) engine.log(log_level::warning, beside.why_not());
  auto db = open_database(*file, beside, deadline);
  if (!db) return db.error();
  return std::shared_ptr<store>(new store(std::move(*file), std::move(beside), std::move(*db), engine));
}

store::store(database_file file, sidecar beside, std::unique_ptr<connection> db, spi::runtime& engine)
    : engine_(engine),
      file_(std::move(file)),
      beside_(std::move(beside)),
      db_(std::move(db)),
      met_(engine,
           [this](session_id who) {
             standing_.neighbour_died(who);
             if (observers_->any()) observers_->changed();
           }),
      clients_(*db_, met_, beside_, engine.who()),
      table_(*db_),
      locks_(table_, clients_),
      counts_(table_, clients_),
      registers_(*db_),
      transact_(*db_, beside_, engine,
                {[this] {
                   clients_.committed();
                   counts_.committed();
                 },
                 [this] {
                   clients_.rolled_back();
                   counts_.rolled_back();
                 }}),
      post_(std::make_shared<post_office>(beside_, engine, clients_.self(), [this](const message& m) { deliver(m); })),
      bells_(beside_),
      observers_(std::make_shared<observers>(engine, file_.path() + "-wal")) {}

store::~store() {
  // Only those who only looked have no row. If it cannot be deleted, somebody who tidies up will.
  if (clients_.enrolled()) {
    auto closed = transact_.write([&] { return clients_.leave(), true; });
    if (!closed) engine_.log(log_level::debug, "closing: " + closed.error().detail);
  }
  transact_.keep_up();
}

std::atomic<bool>& store::crowded(const std::string& name) noexcept {
  return crowded_[std::hash<std::string>{}(name) % crowded_.size()];
}

void store::deliver(const message& news) {
  if (news.what != message::kind::evicted) return standing_.deliver(news, engine_.now());
  standing_.doubt(news.id);
  engine_.lost(news.id, loss::taken);
}

void store::after_commit(const outbox& letters) {
  if (!letters.letters.empty()) post_->send(letters);
  if (!transact_.upkeep_due() && !table_.should_forget()) return;
  if (upkeep_posted_.exchange(true)) return;
  engine_.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->keep_up();
  });
}

void store::keep_up() {
  upkeep_posted_ = false;
  if (table_.should_forget()) {
    auto forgotten = transact_.write([&] { return table_.forget_idle(now()), true; });
    if (!forgotten) engine_.log(log_level::warning, "forgetting idle names: " + forgotten.error().detail);
  }
  transact_.keep_up();
}

result<std::optional<spi::granted>> store::enter_alone(const spi::entry_request& request) {
  const spi::claim& c = request.claim;
  instant end = 0;
  auto token = transact_.single([&]() -> std::optional<std::int64_t> {
    if (!clients_.enrolled()) return std::nullopt;
    const instant at = now();
    end = expiry(at, c.ttl);
    return table_.take_free(c, request.tokens, at, end, clients_.self());
  });
  if (!token) return token.error();
  if (!*token) return std::optional<spi::granted>();
  return std::optional(spi::granted{static_cast<std::uint64_t>(**token), request.tokens, to_time(end)});
}

result<entry_outcome> store::enter_at(const spi::entry_request& request, std::function<mailbox_id()> mailbox) {
  const spi::claim& c = request.claim;
  const place where{standing_.number_of(c.id), std::move(mailbox)};
  if (where.ticket || !request.queue) {
    auto seen = is_count(c.kind) ? result<std::optional<entry_outcome>>(std::nullopt)
                                 : transact_.read([&] { return locks_.glance(request, where, now()); });
    if (!seen) return seen.error();
    if (*seen) return **seen;
  }
  outbox letters;
  // Where there was a line before, there will be one now: then its end is all that matters.
  const bool line =
      request.queue && !where.ticket && !is_count(c.kind) && crowded(c.name).load(std::memory_order_relaxed);
  auto outcome = transact_.write([&]() -> result<entry_outcome> {
    auto joined = line ? locks_.join(request, where.mailbox(), now()) : std::nullopt;
    auto entered = joined             ? result<entry_outcome>(std::move(*joined))
                   : is_count(c.kind) ? counts_.enter(request, where, now(), letters)
                                      : locks_.enter(request, where, now(), letters);
    // Before the commit: from then on the grant may come at any moment.
    if (entered && entered->ticket != 0) standing_.note(c.id, entered->ticket);
    return entered;
  });
  if (!outcome) {
    if (!where.ticket) standing_.strike_silently(c.id);
    return outcome;
  }
  after_commit(letters);
  if (outcome->grant) standing_.strike_silently(c.id);
  return outcome;
}

result<spi::entry_result> store::enter(const spi::entry_request& request) {
  const spi::claim& c = request.claim;
  if (is_alone(c) && !crowded(c.name).load(std::memory_order_relaxed) && !standing_.number_of(c.id)) {
    auto grant = enter_alone(request);
    if (!grant) return grant.error();
    after_commit({});
    if (*grant) return post_->open_soon(), spi::entry_result(**grant);
  }
  auto outcome = enter_at(request, [this] { return post_->open(); });
  if (!outcome) return outcome.error();
  crowded(c.name).store(!outcome->grant, std::memory_order_relaxed);
  if (outcome->grant && !is_count(c.kind)) post_->open_soon();
  // In this order: a death that is told before anybody stands behind it is told to nobody.
  if (outcome->ticket != 0) standing_.stand_behind(c.id, outcome->ahead);
  for (const auto& neighbour : outcome->ahead) met_.watch(neighbour);
  return answer(*outcome);
}

result<spi::entry_result> store::enter_and_wait(const spi::entry_request& request) {
  const spi::claim& c = request.claim;
  if (is_alone(c) && !crowded(c.name).load(std::memory_order_relaxed)) {
    auto grant = enter_alone(request);
    if (!grant) return grant.error();
    after_commit({});
    if (*grant) return post_->open_soon(), spi::entry_result(**grant);
  }
  std::unique_ptr<bell> ring;
  const auto mailbox = [&] {
    if (!ring) ring = bells_.borrow();
    return ring ? ring->id() : mailbox_id{0};
  };
  for (;;) {
    auto outcome = enter_at(request, mailbox);
    crowded(c.name).store(outcome && !outcome->grant, std::memory_order_relaxed);
    if (!outcome) return bells_.give_back(std::move(ring)), outcome.error();
    if (outcome->grant && !is_count(c.kind)) post_->open_soon();
    // Without a bell nobody could wake this thread: the engine looks again instead.
    if (outcome->grant || !ring) return bells_.give_back(std::move(ring)), answer(*outcome);
    const auto news = ring->wait(c.id, outcome->ticket, outcome->ahead, outcome->look_again, engine_);
    if (const auto* grant = std::get_if<spi::granted>(&news)) {
      standing_.strike_silently(c.id);
      bells_.give_back(std::move(ring));
      return spi::entry_result(*grant);
    }
  }
}

void store::watch(const spi::claim& queued, spi::completion<spi::wake> done) {
  standing_.watch(queued.id, std::move(done));
}

result<bool> store::leave(const spi::claim& ours) {
  const auto ticket = standing_.number_of(ours.id);
  if (is_alone(ours) && !ticket && !crowded(ours.name).load(std::memory_order_relaxed)) {
    auto left = transact_.single([&] { return table_.leave_alone(ours.name, ours.id); });
    if (!left) return left;
    after_commit({});
    if (*left) return true;
  }
  outbox letters;
  auto left = transact_.write([&] {
    return is_count(ours.kind) ? counts_.leave(ours, ticket, now(), letters)
                               : locks_.leave(ours, ticket, now(), letters);
  });
  if (!left) return left;
  after_commit(letters);
  crowded(ours.name).store(!letters.letters.empty(), std::memory_order_relaxed);
  standing_.strike(ours.id);
  return left;
}

}  // namespace holdfast::sqlite
