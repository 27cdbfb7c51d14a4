#include "registers.hpp"

#include "line.hpp"
#include "names.hpp"
#include "zk_error.hpp"

#include <algorithm>
#include <charconv>

namespace holdfast::zookeeper {

using namespace std::chrono_literals;

namespace {

constexpr auto seldom = 15s;
constexpr std::string_view counts = "counts";
constexpr std::string_view fences = "fences";

failure no_record(const std::string& path) {
  return {errc::rejected, path + " holds something that is none of Holdfast's records"};
}

failure other_kind(const std::string& name, spi::kind wanted, std::string_view present) {
  return {errc::rejected, "'" + name + "' is in use as a " + std::string(present) + "; it cannot be a " +
                              to_string(wanted) + " at the same time"};
}

}  // namespace

std::string registers::path_in(const settings& where, std::string_view directory, const std::string& name) {
  return where.root + "/" + std::string(own_directory) + "/" + std::string(directory) + "/" + component_of(name);
}

void registers::make_directory(session& store, const std::string& path) {
  const auto directory = path.substr(0, path.rfind('/'));
  for (std::size_t at = directory.find('/', 1);; at = directory.find('/', at + 1)) {
    store.create(directory.substr(0, at), {}, node_mode::persistent, [](int, const std::string&, const ::Stat&) {});
    if (at == directory.npos) return;
  }
}

void registers::update(change_ptr one) {
  {
    const std::lock_guard lock(mutex_);
    auto& line = under_way_[one->path];
    line.push_back(one);
    if (line.size() > 1) return;
  }
  read(one);
}

void registers::read(const change_ptr& one) {
  store_.get(one->path, one->how, [this, one](int code, std::string value, const ::Stat& stat) {
    if (code == ZOK) return write(one, std::move(value), stat.version);
    if (code != ZNONODE) return finish(one, failure_of(code, "reading " + one->path));
    if (one->how == watching::no) return write(one, std::nullopt, -1);
    // Where there is none, its making is what to wait for.
    store_.exists(one->path, watching::yes, [this, one](int seen, const ::Stat&) {
      if (seen == ZOK) return read(one);
      if (seen != ZNONODE) return finish(one, failure_of(seen, "reading " + one->path));
      write(one, std::nullopt, -1);
    });
  });
}

void registers::write(const change_ptr& one, const std::optional<std::string>& now, int version) {
  auto changed = one->apply(now);
  if (!changed) return finish(one, changed.error());
  if (!*changed) {
    if (one->confirm == confirming::no) return finish(one, {});
    return now ? confirm(one, version) : confirm_absence(one);
  }
  if (now) {
    return store_.set(one->path, **changed, version, [this, one](int code, const ::Stat&) {
      if (code == ZOK) return finish(one, {});
      if (code == ZBADVERSION || code == ZNONODE) return read(one);
      finish(one, failure_of(code, "writing " + one->path));
    });
  }
  store_.create(one->path, **changed, node_mode::persistent, [this, one](int code, const std::string&, const ::Stat&) {
    if (code == ZOK) return finish(one, {});
    if (code == ZNODEEXISTS) return read(one);
    if (code != ZNONODE) return finish(one, failure_of(code, "writing " + one->path));
    make_directory(store_, one->path);
    read(one);
  });
}

void registers::confirm(const change_ptr& one, int version) {
  store_.check(one->path, version, [this, one](int code) {
    if (code == ZOK) return finish(one, {});
    if (code == ZBADVERSION || code == ZNONODE) return read(one);
    finish(one, failure_of(code, "reading " + one->path));
  });
}

/// A server that is cut off may not have heard of it: what it says after a quorum has answered is no older than that.
void registers::confirm_absence(const change_ptr& one) {
  store_.check({"/"}, [this, one](int code) {
    if (!agreed(code)) return finish(one, failure_of(code, "reading " + one->path));
    store_.exists(one->path, watching::no, [this, one](int seen, const ::Stat&) {
      if (seen == ZNONODE) return finish(one, {});
      if (seen == ZOK) return read(one);
      finish(one, failure_of(seen, "reading " + one->path));
    });
  });
}

void registers::finish(const change_ptr& one, result<void> outcome) {
  change_ptr next;
  {
    const std::lock_guard lock(mutex_);
    const auto line = under_way_.find(one->path);
    line->second.pop_front();
    if (line->second.empty()) {
      under_way_.erase(line);
    } else {
      next = line->second.front();
    }
  }
  if (next) read(next);
  one->done(std::move(outcome));
}

void registers::change_count(const std::string& name, spi::kind kind, watching how, confirming confirm,
                             std::function<result<bool>(count_record&)> step,
                             detail::unique_function<void(result<void>)> done) {
  auto one = std::make_shared<change_of_record>();
  one->path = path_in(store_.where(), counts, name);
  one->how = how;
  one->confirm = confirm;
  one->done = std::move(done);
  one->apply = [name, kind, step = std::move(step),
                path = one->path](const std::optional<std::string>& now) -> result<std::optional<std::string>> {
    count_record record;
    if (now) {
      auto read = count_record::read(*now);
      if (!read) return no_record(path);
      record = std::move(*read);
    }
    if (record.kind != kind) {
      if (record.in_use()) return other_kind(name, kind, to_string(record.kind));
      record = {};
      record.kind = kind;
    }
    auto changed = step(record);
    if (!changed) return changed.error();
    if (!*changed) return std::optional<std::string>();
    return std::optional<std::string>(record.text());
  };
  update(std::move(one));
}

/// A permit is taken by writing; a latch lets through by what was read alone.
registers::confirming registers::confirmed(spi::kind kind) noexcept {
  return kind == spi::kind::latch ? confirming::yes : confirming::no;
}

/// A name that is in use as a lock is no number.
void registers::refuse_locks(const std::string& name, spi::kind kind,
                             detail::unique_function<void(result<void>)> done) {
  store_.children(path_of(store_.where().root, name), watching::no,
                  [name, kind, done = std::move(done)](int code, const std::vector<std::string>& names) mutable {
                    if (code != ZOK && code != ZNONODE) return done(failure_of(code, "reading '" + name + "'"));
                    for (const auto& child : names)
                      if (const auto other = contender::parse(child))
                        return done(other_kind(name, kind, to_string(other->kind)));
                    done({});
                  });
}

void registers::count(const spi::count_request& request, spi::completion<spi::count_reply> done) {
  const auto reply = std::make_shared<spi::count_reply>();
  const auto step = [request, reply](count_record& record) -> result<bool> {
    const bool changes = request.what != spi::count_request::op::get;
    if (const auto* before = changes ? record.recall(request.id) : nullptr) return *reply = before->reply, false;
    auto answer = record.apply(request);
    if (!answer) return answer.error();
    *reply = *answer;
    if (changes) record.remember({request.id, 0, *answer});
    return changes;
  };
  refuse_locks(request.name, request.kind,
               [this, request, step, reply, done = std::move(done)](const result<void>& free) mutable {
                 if (!free) return done(free.error());
                 change_count(request.name, request.kind, watching::no, confirmed(request.kind), step,
                              [reply, done = std::move(done)](const result<void>& outcome) mutable {
                                if (!outcome) return done(outcome.error());
                                done(*reply);
                              });
               });
}

void registers::enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) {
  const spi::claim& claim = request.claim;
  const auto through = std::make_shared<bool>(false);
  const auto step = [claim, through](count_record& record) -> result<bool> {
    *through = true;
    if (claim.kind == spi::kind::latch) return *through = record.value == 0, false;
    if (record.recall(claim.id) != nullptr) return false;
    *through = record.value >= std::int64_t{claim.permits};
    if (!*through) return false;
    record.value -= claim.permits;
    record.remember({claim.id, claim.permits, {}});
    return true;
  };
  if (request.queue) {
    const std::lock_guard lock(mutex_);
    auto& one = waiters_[claim.id];
    one.path = path_in(store_.where(), counts, claim.name);
    one.woken = false;
  }
  change_count(claim.name, claim.kind, request.queue ? watching::yes : watching::no, confirmed(claim.kind), step,
               [this, id = claim.id, through, done = std::move(done)](const result<void>& outcome) mutable {
                 if (!outcome || *through) end_wait(id);
                 if (!outcome) return done(outcome.error());
                 if (*through) return done(spi::entry_result(spi::granted{}));
                 done(spi::entry_result(spi::busy{engine_.now() + seldom}));
               });
}

void registers::watch(const spi::claim& queued, spi::completion<spi::wake> done) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = waiters_.find(queued.id);
    if (found != waiters_.end() && !found->second.woken) {
      std::swap(found->second.watch, done);
      if (!done) return;
    }
  }
  done(spi::wake(spi::look_again{}));
}

/// Whoever watches is told: nobody else would.
void registers::end_wait(const spi::owner_id& id) {
  spi::completion<spi::wake> ended;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = waiters_.extract(id)) ended = std::move(found.mapped().watch);
  }
  if (ended) ended(spi::wake(spi::look_again{}));
}

/// Whoever leaves after a grant did not want it any more: a wait that was cancelled at that moment.
void registers::leave(const spi::claim& ours, spi::completion<bool> done) {
  end_wait(ours.id);
  if (ours.kind == spi::kind::latch) return done(true);
  const auto found = std::make_shared<bool>(false);
  const auto step = [id = ours.id, found](count_record& record) -> result<bool> {
    auto* const taken = record.recall(id);
    *found = taken != nullptr && taken->taken != 0;
    if (!*found) return false;
    record.value += taken->taken;
    std::erase_if(record.recent, [&](const count_record::step& s) { return s.id == id; });
    return true;
  };
  change_count(ours.name, ours.kind, watching::no, confirming::yes, step,
               [found, done = std::move(done)](const result<void>& outcome) mutable {
                 if (!outcome) return done(outcome.error());
                 done(*found);
               });
}

void registers::admit(const std::string& name, fencing_token token, spi::completion<fencing_token> done) {
  const auto newest = std::make_shared<std::uint64_t>(0);
  auto one = std::make_shared<change_of_record>();
  one->path = path_in(store_.where(), fences, name);
  one->confirm = confirming::yes;
  one->apply = [newest, token,
                path = one->path](const std::optional<std::string>& now) -> result<std::optional<std::string>> {
    std::uint64_t kept = 0;
    if (now) {
      const auto [end, failed] = std::from_chars(now->data(), now->data() + now->size(), kept);
      if (failed != std::errc() || end != now->data() + now->size()) return no_record(path);
    }
    *newest = std::max(kept, token.value());
    if (token.value() <= kept) return std::optional<std::string>();
    return std::optional<std::string>(std::to_string(token.value()));
  };
  one->done = [newest, done = std::move(done)](const result<void>& outcome) mutable {
    if (!outcome) return done(outcome.error());
    done(fencing_token(*newest));
  };
  update(std::move(one));
}

void registers::on_change(const std::string& path) {
  std::vector<spi::completion<spi::wake>> woken;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [id, one] : waiters_) {
      if (!path.empty() && one.path != path) continue;
      one.woken = true;
      if (one.watch) woken.push_back(std::exchange(one.watch, nullptr));
    }
  }
  for (auto& watch : woken) watch(spi::wake(spi::look_again{}));
}

void registers::wake_all() { on_change({}); }

}  // namespace holdfast::zookeeper
