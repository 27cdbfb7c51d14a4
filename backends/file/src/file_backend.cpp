#include "file_backend.hpp"

#include "file_name.hpp"
#include "inspection.hpp"
#include "neighbours.hpp"
#include "observation.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace holdfast::file {
namespace {

using namespace std::chrono_literals;
using step = lock_file::step;

// In line for longer than this, a claim takes the lock whenever it is free: somebody before it may be stopped.
constexpr auto patience = 2s;
// An eviction or two may come in between. More are a mistake, and so is a sandbox that does not let us look.
constexpr int most_replacements = 100;
// The guard was busy: whoever has it needs microseconds.
constexpr auto look_soon = 2ms;

/// Field 22 of /proc/self/stat; 0 without /proc.
std::uint64_t start_of_this_process() {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  // The second field is the program's name in brackets and may hold anything.
  std::size_t at = text.rfind(')');
  for (int field = 2; at != std::string::npos && field != 22; ++field) at = text.find(' ', at + 1);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at, nullptr, 10);
}

failure not_held() { return {errc::lost, "this client does not hold it any more"}; }

}  // namespace

std::size_t file_backend::owner_hash::operator()(const spi::owner_id& id) const noexcept {
  std::size_t hash = 0;  // the id is random
  std::memcpy(&hash, id.bytes.data(), sizeof hash);
  return hash;
}

file_backend::file_backend(std::shared_ptr<const directory> where, spi::runtime& engine)
    : where_(std::move(where)),
      engine_(engine),
      process_start_(start_of_this_process()),
      bell_(std::make_shared<doorbell>(engine, where_)) {
  neighbours::add(this);
}

file_backend::~file_backend() {
  bell_->end_removals();
  neighbours::remove(this);
}

template <class T, class Task>
void file_backend::run(spi::caller from, spi::completion<T> done, Task task) {
  if (from != spi::caller::must_not_block || !where_->is_remote()) return done(task());
  engine_.post([done = std::move(done), task = std::move(task)]() mutable { done(task()); });
}

void file_backend::enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) {
  // The request is copied only where it must outlive this call.
  if (request.caller != spi::caller::must_not_block || !where_->is_remote()) return done(enter_now(request));
  run<spi::entry_result>(request.caller, std::move(done), [this, request] { return enter_now(request); });
}

result<spi::entry_result> file_backend::enter_now(const spi::entry_request& request) {
  doorbell::watches moved;
  const auto removals = removals_.load();
  auto outcome = enter_now(request, moved);
  doorbell::end(moved);
  // A removal heard of before this grant stood among the held ones passed it over.
  if (removals_.load() != removals) lose_removed(to_file_name(request.claim.name));
  return outcome;
}

result<spi::entry_result> file_backend::enter_now(const spi::entry_request& request, doorbell::watches& moved) {
  const spi::claim& claim = request.claim;
  if (claim.kind == spi::kind::permits && claim.permits > claim.limit) {
    return {errc::invalid_argument, "'" + claim.name + "': " + std::to_string(claim.permits) +
                                        " permits asked for where there are " + std::to_string(claim.limit)};
  }
  const auto mine = find_or_make(claim);
  std::unique_lock lock(mine->mutex);
  if (mine->grant) return spi::entry_result(*mine->grant);
  auto outcome = attempt(request, *mine);
  for (int times = 1; outcome && *outcome == step::stale; ++times) {
    mine->file.reset();
    if (times == most_replacements) {
      outcome = failure{errc::unavailable, "the file of '" + claim.name + "' is removed again and again"};
      break;
    }
    auto woken = bell_->move_to_new_file(claim.name);
    std::move(woken.begin(), woken.end(), std::back_inserter(moved));
    outcome = attempt(request, *mine);
  }
  if (outcome && *outcome == step::taken) {
    mine->grant = spi::granted{mine->file->first_token(), request.tokens, engine_.now() + claim.ttl};
    mine->held = true;
    const spi::granted grant = *mine->grant;
    lock.unlock();
    bell_->part(claim.name, claim.id, wants_all(claim) ? doorbell::parting::alone : doorbell::parting::made_way);
    bell_->listen_for_removals_soon([this](const std::string& file_name) { lose_removed(file_name); });
    return spi::entry_result(grant);
  }
  const spi::time_point look_again = next_look(request, *mine);
  lock.unlock();
  if (!outcome || !request.queue) leave_now(claim.name, claim.id);
  if (!outcome) return outcome.error();
  return spi::entry_result(spi::busy{look_again});
}

spi::time_point file_backend::next_look(const spi::entry_request& request, const stake& mine) const {
  const spi::time_point now = engine_.now(), usual = bell_->look_again();
  if (!request.queue) return usual;
  if (!mine.file || !mine.file->in_line()) return now + look_soon;
  const spi::time_point out_of_patience = mine.in_line_since + patience;
  return out_of_patience > now ? std::min(usual, out_of_patience) : usual;
}

result<step> file_backend::attempt(const spi::entry_request& request, stake& mine) {
  const spi::claim& claim = request.claim;
  if (!mine.file) mine.file = idle_.take(claim.name);
  if (!mine.file) {
    auto opened = lock_file::open(where_, claim.name);
    if (!opened) return opened.error();
    mine.file = std::move(*opened);
  }
  lock_file& file = *mine.file;
  if (file.in_line()) return attempt_from_line(request, mine);
  if (request.queue && request.caller == spi::caller::waits && claim.kind != spi::kind::permits) {
    return file.wait_and_enter(request, describe(claim));
  }
  if (!request.queue || !file.should_line_up()) {
    auto first = file.try_enter(request, describe(claim));
    if (!first || *first != step::busy || !request.queue) return first;
  }
  bell_->join(claim.name, claim.id);
  auto lined_up = file.line_up(describe(claim));
  if (!lined_up) return lined_up.error();
  if (!*lined_up) return step::busy;
  mine.in_line_since = engine_.now();
  return attempt_from_line(request, mine);
}

result<step> file_backend::attempt_from_line(const spi::entry_request& request, stake& mine) {
  const spi::claim& claim = request.claim;
  bell_->join(claim.name, claim.id);  // once more: the file listened to may have been removed
  const auto rings = bell_->rings(claim.name);
  const bool patient = engine_.now() - mine.in_line_since < patience;
  auto outcome = mine.file->try_enter_from_line(request, describe(claim),
                                                patient ? lock_file::order::in_turn : lock_file::order::any_time);
  if (outcome && *outcome == step::busy) bell_->tried_in_vain(claim.name, claim.id, mine.file->ticket(), rings);
  return outcome;
}

void file_backend::watch(const spi::claim& queued, spi::completion<spi::wake> done) {
  bell_->watch(queued.name, queued.id, std::move(done));
}

void file_backend::leave(const spi::claim& ours, spi::caller from, spi::completion<bool> done) {
  if (from != spi::caller::must_not_block || !where_->is_remote()) return done(leave_now(ours.name, ours.id));
  run<bool>(from, std::move(done), [this, name = ours.name, id = ours.id] { return leave_now(name, id); });
}

bool file_backend::leave_now(const std::string& name, const spi::owner_id& id) {
  const auto mine = remove(id);
  if (!mine) return false;
  bool had = false;
  {
    std::lock_guard lock(mine->mutex);
    had = mine->grant.has_value() || (mine->file && mine->file->is_lining_up());
    mine->grant.reset();
    mine->held = false;
    if (mine->file) {
      if (had) mine->file->leave();
      idle_.put(std::move(mine->file));
    }
  }
  bell_->part(name, id, doorbell::parting::made_way);
  return had;
}

void file_backend::renew(const std::vector<spi::claim>& held, spi::completion<std::vector<spi::renewal_outcome>> done) {
  std::vector<spi::renewal_outcome> outcomes;
  outcomes.reserve(held.size());
  for (const spi::claim& claim : held) outcomes.push_back(renew_one(claim));
  done(std::move(outcomes));
}

spi::renewal_outcome file_backend::renew_one(const spi::claim& held) {
  const auto mine = find(held.id);
  if (!mine) return {spi::renewal::lost, {}};
  std::lock_guard lock(mine->mutex);
  if (!mine->grant) return {spi::renewal::lost, {}};
  const auto now = engine_.now();
  const auto what = mine->file->look_after(held.id);
  if (what == spi::renewal::renewed) mine->grant->expires = now + held.ttl;
  return {what, mine->grant->expires};
}

void file_backend::convert(const spi::claim& held, spi::access to, spi::caller from, spi::completion<bool> done) {
  run<bool>(from, std::move(done), [this, held, to]() -> result<bool> {
    const auto mine = find(held.id);
    if (!mine) return not_held();
    std::lock_guard lock(mine->mutex);
    if (!mine->grant) return not_held();
    holder who = describe(held);
    who.access = to;
    who.token = mine->grant->first_token;
    return mine->file->convert(to, who);
  });
}

void file_backend::raise(const spi::claim& held, fencing_token floor, spi::caller from, spi::completion<bool> done) {
  run<bool>(from, std::move(done), [this, id = held.id, floor]() -> result<bool> {
    const auto mine = find(id);
    if (!mine) return not_held();
    std::lock_guard lock(mine->mutex);
    if (!mine->grant) return not_held();
    if (auto raised = mine->file->raise(floor.value()); !raised) return raised.error();
    return true;
  });
}

void file_backend::inspect(const std::string& prefix, spi::completion<std::vector<entry>> done) {
  engine_.post([this, prefix, done = std::move(done)]() mutable { done(look_at_all(*where_, prefix)); });
}

void file_backend::evict(const std::string& name, spi::completion<bool> done) {
  engine_.post([this, name, done = std::move(done)]() mutable { done(neighbours::evict(*where_, name)); });
}

void file_backend::evict_own(const std::string& name) {
  for (const spi::owner_id& id : held_here(name)) {
    // Told while the kernel still has it locked for them: before the next one can get in.
    engine_.lost(id, loss::taken);
    leave_now(name, id);
  }
}

void file_backend::lose_removed(const std::string& file_name) {
  ++removals_;
  // A cut name, or none, may stand for any.
  const auto name = to_lock_name(file_name);
  if (!name && !file_name.empty() && !is_cut(file_name)) return;
  std::vector<std::pair<spi::owner_id, named_stake>> maybe;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, named] : stakes_) {
      if (named.what->held && (!name || named.name == *name)) maybe.emplace_back(id, named);
    }
  }
  for (const auto& [id, named] : maybe) {
    {
      std::lock_guard lock(named.what->mutex);
      if (!named.what->grant || !named.what->file->was_removed()) continue;
    }
    engine_.lost(id, loss::taken);
    leave_now(named.name, id);
  }
}

std::vector<spi::owner_id> file_backend::held_here(const std::string& name) const {
  std::vector<spi::owner_id> ids;
  std::lock_guard lock(mutex_);
  for (const auto& [id, named] : stakes_) {
    if (named.name == name && named.what->held) ids.push_back(id);
  }
  return ids;
}

std::function<void()> file_backend::observe(const std::string& prefix, std::function<void()> changed) {
  return [started = observation::start(engine_, *where_, prefix, std::move(changed))] { started->end(); };
}

std::shared_ptr<file_backend::stake> file_backend::find(const spi::owner_id& id) const {
  std::lock_guard lock(mutex_);
  const auto found = stakes_.find(id);
  return found == stakes_.end() ? nullptr : found->second.what;
}

std::shared_ptr<file_backend::stake> file_backend::find_or_make(const spi::claim& claim) {
  std::lock_guard lock(mutex_);
  auto& found = stakes_[claim.id];
  if (!found.what) found = {claim.name, std::make_shared<stake>()};
  return found.what;
}

std::shared_ptr<file_backend::stake> file_backend::remove(const spi::owner_id& id) {
  std::lock_guard lock(mutex_);
  const auto found = stakes_.find(id);
  if (found == stakes_.end()) return nullptr;
  auto gone = std::move(found->second.what);
  stakes_.erase(found);
  return gone;
}

holder file_backend::describe(const spi::claim& claim) const {
  const spi::identity& self = engine_.who();
  holder who;
  who.owner = claim.id;
  who.pid = self.pid;
  who.process_start = process_start_;
  who.since = std::chrono::system_clock::now();
  who.ttl = claim.ttl;
  who.access = claim.access;
  who.permits = claim.permits;
  who.host = self.host;
  who.client_name = self.client_name;
  return who;
}

}  // namespace holdfast::file
