#include "transactions.hpp"

namespace holdfast::sqlite {

namespace {

// In pages of the log. Whoever opens the database alone reads the whole log first, so a command that comes and goes
// keeps it short; one that stays can let it grow, and pays for the disk less often.
constexpr int long_log = 4000;
constexpr int long_log_for_the_young = 128;
constexpr int young_commits = 8;

constexpr std::chrono::seconds file_look_period{1};

turn turn_beside(const sidecar& beside) {
  return turn(beside.open("turn"), static_cast<std::uint32_t>(sidecar::random_id()));
}

}  // namespace

transactions::transactions(connection& db, const sidecar& beside, spi::runtime& engine, listener ends)
    : engine_(engine),
      beside_(beside),
      ends_(std::move(ends)),
      db_(db),
      turn_(turn_beside(beside)),
      looked_at_file_(clock::now()),
      begin_write_(db.handle(), "BEGIN IMMEDIATE"),
      begin_read_(db.handle(), "BEGIN"),
      commit_(db.handle(), "COMMIT") {}

result<void> transactions::prepare(std::unique_lock<deadline_mutex>& lock, clock::time_point deadline) {
  if (!lock.try_lock() && !lock.try_lock_until(deadline))
    return {errc::unavailable, db_.path() + ": other calls of this client take too long"};
  db_.wait_until(deadline);
  // Cheap, but not for every call.
  if (clock::now() - looked_at_file_ < file_look_period && !gone_) return {};
  return look_at_file();
}

result<void> transactions::look_at_file() {
  looked_at_file_ = clock::now();
  gone_ = gone_ || db_.moved();
  if (!gone_) return {};
  return {errc::rejected, db_.path() + ": the database was deleted or replaced while it was open; connect again"};
}

result<void> transactions::check_file() {
  std::lock_guard lock(mutex_);
  return look_at_file();
}

void transactions::begin(mode m, clock::time_point deadline) {
  if (m == mode::read) {
    begin_read_.run();
    return;
  }
  has_turn_ = turn_.take(deadline);
  if (m == mode::single) return;
  begin_write_.run();
  inherit_turn();
}

void transactions::inherit_turn() noexcept {
  if (!has_turn_) turn_.take_over();
  has_turn_ = true;
}

void transactions::end(mode m) {
  if (m != mode::single) commit_.run();
  if (m == mode::read) return;
  // A single statement too: else a turn that went down with its owner would keep each of them waiting.
  inherit_turn();
  give_turn();
  if (m == mode::write) ends_.committed();
  const int limit = ++commits_ <= young_commits ? long_log_for_the_young : long_log;
  if (db_.log_pages() >= limit) checkpoint_due_.store(true);
  if (db_.log_pages() < log_pages_) flush_due_.store(true);
  log_pages_ = db_.log_pages();
}

failure transactions::abandon(const sql_error& e) noexcept {
  db_.roll_back();
  give_turn();
  ends_.rolled_back();
  if (db_.moved()) gone_ = true;
  if (gone_)
    return {errc::rejected, db_.path() + ": the database was deleted or replaced while it was open; connect again"};
  return db_.describe(e);
}

void transactions::give_turn() noexcept {
  if (has_turn_) turn_.give();
  has_turn_ = false;
}

void transactions::keep_up() noexcept {
  // A log that was begun afresh must not reach the disk piece by piece: until its first page is there, a power failure
  // would bring back the beginning of the one before.
  if (flush_due_.exchange(false)) db_.flush_log();
  if (checkpoint_due_.exchange(false)) checkpoint();
}

void transactions::checkpoint() noexcept {
  // With a connection and a turn of its own: the disk may take seconds, and renewals must not wait for it.
  const auto deadline = clock::now() + engine_.options().request_timeout;
  try {
    if (!check_file()) return;
    connection apart(db_.path(), deadline);
    apart.use_log();
    apart.wait_for_disk();
    if (apart.checkpoint()) return;
    // Others wrote meanwhile, and a log that is never copied to its end never starts afresh: so without them. One that
    // writes just now may do so once more.
    turn alone = turn_beside(beside_);
    alone.take_over();
    if (!apart.checkpoint()) apart.checkpoint();
  } catch (const sql_error& e) {
    engine_.log(log_level::warning, "checkpoint: " + db_.describe(e).detail);
  }
}

}  // namespace holdfast::sqlite
