#include "session.hpp"

#include "zk_error.hpp"

#include <algorithm>
#include <array>
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

thread_local bool closing_here = false;

/// The library's threads are ours from the first answer they bring; the one that closes a session is somebody's.
void on_library_thread() {
  thread_local bool adopted = false;
  if (adopted || closing_here) return;
  adopted = true;
  spi::adopt_this_thread();
}

std::optional<change> change_of(int type) {
  if (type == ZOO_CREATED_EVENT) return change::created;
  if (type == ZOO_DELETED_EVENT) return change::removed;
  if (type == ZOO_CHANGED_EVENT) return change::written;
  if (type == ZOO_CHILD_EVENT) return change::children;
  return std::nullopt;
}

constexpr std::chrono::nanoseconds margin(std::chrono::nanoseconds timeout) { return timeout / 50 + 10ms; }

int milliseconds(std::chrono::nanoseconds time) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(
                              std::clamp<std::chrono::nanoseconds>(time, 1ms, longest_timeout))
                              .count());
}

/// What the library looks at until a transaction is answered.
struct transaction {
  std::string made;
  std::string value;
  std::string gone;
  std::array<zoo_op_t, 2> operations;
  std::array<zoo_op_result_t, 2> results;
  std::array<char, 2> path;
};

}  // namespace

/// The library calls functions with a pointer: here they find the session and the answer's function again.
struct session::trampolines {
  template <class Done>
  struct call final : question {
    call(session* s, spi::time_point when, Done d) : self(s), sent(when), done(std::move(d)) {}
    void fail(int code) override { trampolines::fail(*this, code); }
    session* self;
    spi::time_point sent;
    Done done;
    std::unique_ptr<transaction> operation;
  };

  template <class Done, class... Parts>
  static void answer(const void* data, int code, Parts&&... parts) {
    const std::unique_ptr<call<Done>> asked(static_cast<call<Done>*>(const_cast<void*>(data)));
    on_library_thread();
    asked->self->forget(*asked);
    if (!outcome_unknown(code)) asked->self->touch(asked->sent);
    asked->done(code, std::forward<Parts>(parts)...);
  }

  static void node(int code, const char* path, const ::Stat* stat, const void* data) {
    answer<on_node>(data, code, std::string(path == nullptr ? "" : path), stat == nullptr ? ::Stat{} : *stat);
  }
  static void done(int code, const void* data) { answer<on_done>(data, code); }
  static void stat(int code, const ::Stat* stat, const void* data) {
    answer<on_stat>(data, code, stat == nullptr ? ::Stat{} : *stat);
  }
  static void value(int code, const char* value, int length, const ::Stat* stat, const void* data) {
    answer<on_value>(
        data, code,
        value == nullptr || length < 0 ? std::string() : std::string(value, static_cast<std::size_t>(length)),
        stat == nullptr ? ::Stat{} : *stat);
  }
  static void names(int code, const ::String_vector* all, const void* data) {
    std::vector<std::string> copy;
    if (all != nullptr) copy.assign(all->data, all->data + all->count);
    answer<on_names>(data, code, std::move(copy));
  }

  // What becomes of a request that could not be sent.
  static void fail(call<on_node>& c, int code) { c.done(code, {}, {}); }
  static void fail(call<on_done>& c, int code) { c.done(code); }
  static void fail(call<on_stat>& c, int code) { c.done(code, {}); }
  static void fail(call<on_value>& c, int code) { c.done(code, {}, {}); }
  static void fail(call<on_names>& c, int code) { c.done(code, {}); }

  static void event(zhandle_t* handle, int type, int state, const char* path, void* context) {
    auto* const self = static_cast<session*>(context);
    on_library_thread();
    if (self->closed_) return;
    if (type == ZOO_SESSION_EVENT) return self->on_session_event(handle, state);
    if (const auto what = change_of(type); what && path != nullptr) self->tell_.heard(*what, path);
  }
  // Its lines have no handle, and all that matters is told as events.
  static void say_nothing(const char*) {}
};

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
  const std::unique_lock lock(handle_mutex_);
  handle_ = zookeeper_init2(where_.servers.c_str(), &trampolines::event, milliseconds(engine_.options().ttl), nullptr,
                            this, 0, &trampolines::say_nothing);
  if (handle_ == nullptr) return false;
  if (where_.user.empty()) return true;
  const std::string secret = where_.user + ":" + where_.password;
  // Sent with every connection, before anything else.
  return zoo_add_auth(handle_, "digest", secret.data(), static_cast<int>(secret.size()), nullptr, nullptr) == ZOK;
}

result<void> session::open() {
  const auto unreachable = [&](const std::string& why) {
    return failure{errc::unavailable, where_.shown() + ": " + why};
  };
  errno = 0;
  if (!start()) return unreachable(errno == 0 ? "no such server" : std::generic_category().message(errno));
  std::unique_lock lock(opening_mutex_);
  opening_.wait_for(lock, engine_.options().connect_timeout, [&] { return opened_ || refused_; });
  if (opened_) return {};
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

void session::reopen(zhandle_t* ended) {
  if (closed_) return;
  std::unique_lock lock(handle_mutex_);
  // The end may be told twice; there is another session by then.
  if (handle_ != ended) return;
  zhandle_t* const last = std::exchange(handle_, nullptr);
  lock.unlock();
  if (last != nullptr) shut(last);
  if (start()) return;
  engine_.log(log_level::warning, where_.shown() + ": no new session could be opened; trying again");
  engine_.at(engine_.now() + reopening_pause, [this] { engine_.post([this] { reopen(nullptr); }); });
}

void session::on_session_event(zhandle_t* from, int state) {
  {
    const std::shared_lock started(handle_mutex_);
  }
  if (state == ZOO_CONNECTED_STATE) {
    timeout_ = std::chrono::milliseconds(zoo_recv_timeout(from));
    if (const auto now = zoo_client_id(from)->client_id; id_.exchange(now) != now) ++generation_;
    ++connection_;
    connected_ = true;
    const bool first = [&] {
      const std::lock_guard lock(opening_mutex_);
      return !std::exchange(opened_, true);
    }();
    opening_.notify_all();
    if (!first) tell_.connected();
  } else if (state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE) {
    connected_ = false;
    const bool refused = state == ZOO_AUTH_FAILED_STATE;
    {
      const std::lock_guard lock(opening_mutex_);
      refused_ = refused;
      // Whoever opens it closes it.
      if (!opened_) return opening_.notify_all();
    }
    tell_.ended();
    engine_.at(engine_.now() + (refused ? reopening_pause : 0ms),
               [this, from] { engine_.post([this, from] { reopen(from); }); });
  } else if (connected_.exchange(false)) {
    tell_.suspended();
  }
}

void session::touch(spi::time_point sent) noexcept {
  const auto lasts = timeout_.load();
  const auto end = sent + lasts - margin(lasts);
  for (auto seen = contact_.load(); seen < sent.time_since_epoch();)
    if (contact_.compare_exchange_weak(seen, sent.time_since_epoch())) break;
  for (auto seen = end_->load(); seen < end.time_since_epoch();)
    if (end_->compare_exchange_weak(seen, end.time_since_epoch())) break;
}

template <class Done, class Send>
void session::request(Done done, Send send) {
  using call = trampolines::call<Done>;
  auto asked = std::make_unique<call>(this, engine_.now(), std::move(done));
  int code = ZINVALIDSTATE;
  {
    const std::shared_lock lock(handle_mutex_);
    if (handle_ != nullptr) {
      {
        // Before it is sent: the answer may be faster than we are.
        const std::lock_guard known(questions_mutex_);
        questions_.insert(asked.get());
      }
      code = send(handle_, *asked);
      if (code != ZOK) forget(*asked);
    }
  }
  if (code == ZOK) return void(asked.release());  // the answer's
  engine_.post([asked = std::move(asked), code] { trampolines::fail(*asked, code); });
}

void session::create(const std::string& path, const std::string& value, node_mode mode, on_node done) {
  const int flags = mode == node_mode::ephemeral               ? ZOO_EPHEMERAL
                    : mode == node_mode::ephemeral_sequential  ? ZOO_EPHEMERAL_SEQUENTIAL
                    : mode == node_mode::parent && containers_ ? ZOO_CONTAINER
                                                               : ZOO_PERSISTENT;
  request(std::move(done), [&](zhandle_t* to, const auto& asked) {
    return zoo_acreate2(to, path.c_str(), value.data(), static_cast<int>(value.size()), &acl_, flags,
                        &trampolines::node, &asked);
  });
}

void session::remove(const std::string& path, int version, on_done done) {
  request(std::move(done), [&](zhandle_t* to, const auto& asked) {
    return zoo_adelete(to, path.c_str(), version, &trampolines::done, &asked);
  });
}

void session::exists(const std::string& path, watching how, on_stat done) {
  request(std::move(done), [&](zhandle_t* to, const auto& asked) {
    return zoo_aexists(to, path.c_str(), how == watching::yes ? 1 : 0, &trampolines::stat, &asked);
  });
}

void session::get(const std::string& path, watching how, on_value done) {
  request(std::move(done), [&](zhandle_t* to, const auto& asked) {
    return zoo_aget(to, path.c_str(), how == watching::yes ? 1 : 0, &trampolines::value, &asked);
  });
}

void session::set(const std::string& path, const std::string& value, int version, on_stat done) {
  request(std::move(done), [&](zhandle_t* to, const auto& asked) {
    return zoo_aset(to, path.c_str(), value.data(), static_cast<int>(value.size()), version, &trampolines::stat,
                    &asked);
  });
}

void session::children(const std::string& path, watching how, on_names done) {
  request(std::move(done), [&](zhandle_t* to, const auto& asked) {
    return zoo_aget_children(to, path.c_str(), how == watching::yes ? 1 : 0, &trampolines::names, &asked);
  });
}

void session::replace(const std::string& made, const std::string& value, const std::string& gone, on_done done) {
  request(std::move(done), [&](zhandle_t* to, auto& asked) {
    asked.operation = std::make_unique<transaction>(transaction{made, value, gone, {}, {}, {}});
    auto& t = *asked.operation;
    zoo_create_op_init(&t.operations[0], t.made.c_str(), t.value.data(), static_cast<int>(t.value.size()), &acl_,
                       ZOO_EPHEMERAL, t.path.data(), static_cast<int>(t.path.size()));
    zoo_delete_op_init(&t.operations[1], t.gone.c_str(), -1);
    return zoo_amulti(to, static_cast<int>(t.operations.size()), t.operations.data(), t.results.data(),
                      &trampolines::done, &asked);
  });
}

std::string session::server() const {
  const std::shared_lock lock(handle_mutex_);
  const char* const name = handle_ == nullptr ? nullptr : zoo_get_current_server(handle_);
  return name == nullptr ? std::string() : name;
}

}  // namespace holdfast::zookeeper
