#include "session.hpp"

#include <array>
#include <memory>

namespace holdfast::zookeeper {

namespace {

/// What the library looks at until a transaction is answered.
struct transaction {
  std::vector<std::string> paths;
  std::string value;
  std::vector<zoo_op_t> operations;
  std::vector<zoo_op_result_t> results;
  std::array<char, 2> made;

  int send(zhandle_t* to, void_completion_t done, const void* asked) {
    results.resize(operations.size());
    return zoo_amulti(to, static_cast<int>(operations.size()), operations.data(), results.data(), done, asked);
  }
};

}  // namespace

/// The library calls functions with a pointer: here they find the session and the answer's function again.
struct session::trampolines {
  template <class Done>
  struct call final : question {
    call(session* s, answered_by w, spi::time_point when, Done d) : self(s), whom(w), sent(when), done(std::move(d)) {}
    void fail(int code) override { trampolines::fail(*this, code); }
    session* self;
    answered_by whom;
    spi::time_point sent;
    Done done;
    std::unique_ptr<transaction> operation;
  };

  template <class Done, class... Parts>
  static void answer(const void* data, int code, Parts&&... parts) {
    const std::unique_ptr<call<Done>> asked(static_cast<call<Done>*>(const_cast<void*>(data)));
    on_library_thread();
    asked->self->forget(*asked);
    asked->self->on_answer(asked->whom, asked->sent, code);
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
};

template <class Done, class Send>
void session::request(answered_by whom, Done done, Send send) {
  using call = trampolines::call<Done>;
  auto asked = std::make_unique<call>(this, whom, engine_.now(), std::move(done));
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
      // What the library says of every request that it does not queue, because its session ends just now, too.
      if (code == ZMARSHALLINGERROR) code = ZINVALIDSTATE;
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
  request(answered_by::quorum, std::move(done), [&](zhandle_t* to, const auto& asked) {
    return zoo_acreate2(to, path.c_str(), value.data(), static_cast<int>(value.size()), &acl_, flags,
                        &trampolines::node, &asked);
  });
}

void session::remove(const std::string& path, int version, on_done done) {
  request(answered_by::quorum, std::move(done), [&](zhandle_t* to, const auto& asked) {
    return zoo_adelete(to, path.c_str(), version, &trampolines::done, &asked);
  });
}

void session::exists(const std::string& path, watching how, on_stat done) {
  request(answered_by::server, std::move(done), [&](zhandle_t* to, const auto& asked) {
    return zoo_aexists(to, path.c_str(), how == watching::yes ? 1 : 0, &trampolines::stat, &asked);
  });
}

void session::get(const std::string& path, watching how, on_value done) {
  request(answered_by::server, std::move(done), [&](zhandle_t* to, const auto& asked) {
    return zoo_aget(to, path.c_str(), how == watching::yes ? 1 : 0, &trampolines::value, &asked);
  });
}

void session::set(const std::string& path, const std::string& value, int version, on_stat done) {
  request(answered_by::quorum, std::move(done), [&](zhandle_t* to, const auto& asked) {
    return zoo_aset(to, path.c_str(), value.data(), static_cast<int>(value.size()), version, &trampolines::stat,
                    &asked);
  });
}

void session::children(const std::string& path, watching how, on_names done) {
  request(answered_by::server, std::move(done), [&](zhandle_t* to, const auto& asked) {
    return zoo_aget_children(to, path.c_str(), how == watching::yes ? 1 : 0, &trampolines::names, &asked);
  });
}

void session::check(const std::vector<std::string>& paths, on_done done) {
  request(answered_by::quorum, std::move(done), [&](zhandle_t* to, auto& asked) {
    asked.operation = std::make_unique<transaction>();
    auto& t = *asked.operation;
    t.paths = paths;
    t.operations.resize(paths.size());
    for (std::size_t i = 0; i < paths.size(); ++i) zoo_check_op_init(&t.operations[i], t.paths[i].c_str(), -1);
    return t.send(to, &trampolines::done, &asked);
  });
}

void session::check(const std::string& path, int version, on_done done) {
  request(answered_by::quorum, std::move(done), [&](zhandle_t* to, auto& asked) {
    asked.operation = std::make_unique<transaction>();
    auto& t = *asked.operation;
    t.paths = {path};
    t.operations.resize(1);
    zoo_check_op_init(&t.operations[0], t.paths[0].c_str(), version);
    return t.send(to, &trampolines::done, &asked);
  });
}

void session::replace(const std::string& made, const std::string& value, const std::string& gone, on_done done) {
  request(answered_by::quorum, std::move(done), [&](zhandle_t* to, auto& asked) {
    asked.operation = std::make_unique<transaction>();
    auto& t = *asked.operation;
    t.paths = {made, gone};
    t.value = value;
    t.operations.resize(2);
    zoo_create_op_init(&t.operations[0], t.paths[0].c_str(), t.value.data(), static_cast<int>(t.value.size()), &acl_,
                       ZOO_EPHEMERAL, t.made.data(), static_cast<int>(t.made.size()));
    zoo_delete_op_init(&t.operations[1], t.paths[1].c_str(), -1);
    return t.send(to, &trampolines::done, &asked);
  });
}

}  // namespace holdfast::zookeeper
