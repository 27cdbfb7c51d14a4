#include "session.hpp"

#include "zk_error.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <system_error>

namespace holdfast::zookeeper {

using namespace std::chrono_literals;

namespace {

// What the library can ask for; servers grant forty seconds unless told otherwise.
constexpr std::chrono::nanoseconds longest_timeout = 1h;
// Before another session is tried for.
constexpr auto reopening_pause = 200ms;

std::optional<change> change_of(int type) {
  if (type == ZOO_CREATED_EVENT) return change::created;
  if (type == ZOO_DELETED_EVENT) return change::removed;
  if (type == ZOO_CHANGED_EVENT) return change::written;
  if (type == ZOO_CHILD_EVENT) return change::children;
  return std::nullopt;
}

/// Forward only.
void raise(std::atomic<spi::time_point::duration>& newest, spi::time_point to) noexcept {
  for (auto seen = newest.load(); seen < to.time_since_epoch();)
    if (newest.compare_exchange_weak(seen, to.time_since_epoch())) return;
}

int milliseconds(std::chrono::nanoseconds time) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(
                              std::clamp<std::chrono::nanoseconds>(time, 1ms, longest_timeout))
                              .count());
}

/// Its lines have no handle, and all that matters is told as events.
void say_nothing(const char*) {}

}  // namespace

session::session(settings where, spi::runtime& engine, listener tell)
    : where_(std::move(where)),
      engine_(engine),
      tell_(std::move(tell)),
      acl_entries_{},
      acl_{},
      containers_(where_.parents == parent_nodes::containers) {
  acl_entries_[0] = {ZOO_PERM_ALL, where_.acl == access_list::open ? ZOO_ANYONE_ID_UNSAFE : ZOO_AUTH_IDS};
  acl_entries_[1] = {ZOO_PERM_READ, ZOO_ANYONE_ID_UNSAFE};
  acl_ = {where_.acl == access_list::creator_read ? 2 : 1, acl_entries_};
  timeout_ = std::chrono::nanoseconds(engine.options().ttl);
}

session::~session() { close(); }

bool session::start() {
  // Held to the end: the library's thread may tell of the connection before the user is known to it.
  const std::lock_guard starting(starting_mutex_);
  tenure_.begin(engine_.now());
  ended_ = false;
  zhandle_t* const opened = zookeeper_init2(where_.servers.c_str(), &on_event, milliseconds(engine_.options().ttl),
                                            nullptr, this, 0, &say_nothing);
  if (opened == nullptr) return false;
  if (!where_.user.empty()) {
    const std::string secret = where_.user + ":" + where_.password;
    // Sent with every connection, before anything else.
    zoo_add_auth(opened, "digest", secret.data(), static_cast<int>(secret.size()), nullptr, nullptr);
  }
  const std::unique_lock lock(handle_mutex_);
  handle_ = opened;
  return true;
}

result<void> session::open() {
  const auto unreachable = [&](const std::string& why) {
    return failure{errc::unavailable, where_.shown() + ": " + why};
  };
  if (!presence::possible())
    return {errc::unsupported,
            "this process was forked from one that uses ZooKeeper, and its client library does not work in such a "
            "child: run a program in it (exec), or fork before the first connect"};
  here_.emplace();
  errno = 0;
  if (!start()) return unreachable(errno == 0 ? "no such server" : std::generic_category().message(errno));
  std::unique_lock lock(opening_mutex_);
  opening_.wait_for(lock, engine_.options().connect_timeout, [&] { return opened_ || refused_; });
  if (opened_) return stay_in_touch(), result<void>();
  const bool refused = refused_;
  lock.unlock();
  close();
  if (refused) return {errc::rejected, where_.shown() + ": the server does not accept the user and password"};
  return unreachable("no server answered in time");
}

void session::close() noexcept {
  closed_ = true;
  connected_ = false;
  std::unique_lock lock(handle_mutex_);
  zhandle_t* const last = std::exchange(handle_, nullptr);
  lock.unlock();
  if (last == nullptr) return;
  shut(last);
}

thread_local bool session::closing_here = false;

/// The library's threads are ours from the first answer they bring; the one that closes a session is somebody's.
void session::on_library_thread() {
  thread_local bool adopted = false;
  if (adopted || closing_here) return;
  adopted = true;
  spi::adopt_this_thread();
}

/// The library drops answers that it had not brought yet when it is closed: those are told here.
void session::shut(zhandle_t* last) noexcept {
  closing_here = true;
  zookeeper_close(last);
  std::vector<std::unique_ptr<question>> unanswered;
  {
    const std::lock_guard lock(questions_mutex_);
    for (auto* one : std::exchange(questions_, {})) unanswered.emplace_back(one);
  }
  for (const auto& one : unanswered) one->fail(ZCLOSING);
  closing_here = false;
}

void session::forget(question& answered) noexcept {
  const std::lock_guard lock(questions_mutex_);
  questions_.erase(&answered);
}

void session::reopen() {
  if (closed_) return;
  std::unique_lock lock(handle_mutex_);
  zhandle_t* const last = std::exchange(handle_, nullptr);
  lock.unlock();
  if (last != nullptr) shut(last);
  if (start()) return;
  engine_.log(log_level::warning, where_.shown() + ": no new session could be opened; trying again");
  engine_.at(engine_.now() + reopening_pause, [this] { engine_.post([this] { reopen(); }); });
}

void session::on_event(zhandle_t* handle, int type, int state, const char* path, void* context) {
  auto* const self = static_cast<session*>(context);
  on_library_thread();
  if (self->closed_) return;
  if (type == ZOO_SESSION_EVENT) return self->on_session_event(handle, state);
  if (const auto what = change_of(type); what && path != nullptr) self->tell_.heard(*what, path);
}

void session::on_session_event(zhandle_t* from, int state) {
  {
    const std::lock_guard started(starting_mutex_);
    const std::shared_lock lock(handle_mutex_);
    if (from != handle_) return;  // one that is being closed
  }
  if (state == ZOO_CONNECTED_STATE) return on_connected(from);
  if (state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE) return on_ended(state);
  if (!connected_.exchange(false)) return;
  look_apart();
  tell_.suspended();
}

void session::on_connected(zhandle_t* to) {
  timeout_ = std::chrono::milliseconds(zoo_recv_timeout(to));
  // Told late, of a connection that is gone again.
  if (zoo_state(to) != ZOO_CONNECTED_STATE) tenure_.forget_apart();
  tenure_.connected(timeout_);
  id_ = zoo_client_id(to)->client_id;
  ++connection_;
  connected_ = true;
  const bool first = [&] {
    const std::lock_guard lock(opening_mutex_);
    return !std::exchange(opened_, true);
  }();
  opening_.notify_all();
  if (!first) tell_.connected();
}

void session::on_ended(int state) {
  connected_ = false;
  const bool refused = state == ZOO_AUTH_FAILED_STATE;
  {
    const std::lock_guard lock(opening_mutex_);
    refused_ = refused;
    // Whoever opens it closes it.
    if (!opened_) return opening_.notify_all();
  }
  // The end may be told twice.
  if (ended_.exchange(true)) return;
  // Before anybody is told: what is asked for from here on belongs to the next session.
  ++generation_;
  tell_.ended();
  engine_.at(engine_.now() + (refused ? reopening_pause : 0ms), [this] { engine_.post([this] { reopen(); }); });
}

void session::on_answer(answered_by whom, spi::time_point sent, int code) {
  if (outcome_unknown(code)) return;
  const auto now = engine_.now();
  if (whom != answered_by::quorum || !agreed(code)) return tenure_.heard(sent, now);
  tenure_.committed(sent, now);
  raise(agreement_, sent);
}

/// While the library has not asked a server to go on with the session, no leader knows of us since.
void session::look_apart() {
  const auto now = engine_.now();
  const std::shared_lock lock(handle_mutex_);
  const int state = handle_ == nullptr ? ZOO_NOTCONNECTED_STATE : zoo_state(handle_);
  if (state == ZOO_CONNECTING_STATE || state == ZOO_NOTCONNECTED_STATE) tenure_.apart(now);
}

/// Of a session that is not in use, too, the end must be known: what is asked for next is granted by it. And if no
/// quorum answers, that must be known of the time in which a server answers alone.
void session::stay_in_touch() {
  if (closed_) return;
  // Often: what a quorum last agreed to is what leases last from, and that is well back already (see tenure).
  const auto pause = timeout() / 16;
  if (!connected_) {
    look_apart();
  } else if (engine_.now() - agreement() >= pause) {
    check({"/"}, [](int) {});
  }
  engine_.at(engine_.now() + pause, [this] { stay_in_touch(); });
}

}  // namespace holdfast::zookeeper
