#include <holdfast/client.hpp>

#include "ask.hpp"
#include "engine.hpp"
#include "name.hpp"
#include "observation.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace holdfast {

namespace {

/// Home by the environment, else by the user database: a cron job may have no environment.
std::string home() {
  if (const char* set = std::getenv("HOME"); set != nullptr && set[0] == '/') return set;
  if (const passwd* user = ::getpwuid(::geteuid()); user != nullptr && user->pw_dir != nullptr) return user->pw_dir;
  throw error({errc::invalid_argument, "no store was given, and neither HOLDFAST_STORE nor HOME is set"}, "connect",
              {});
}

std::string escaped(const std::string& path) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (const unsigned char c : path) {
    if (c > 0x20 && c < 0x7f && c != '%' && c != '?' && c != '#')
      out += static_cast<char>(c);
    else
      (out += '%', out += digits[c >> 4], out += digits[c & 15]);
  }
  return out;
}

bool own_store_is_meant() {
  const char* set = std::getenv("HOLDFAST_STORE");
  return set == nullptr || set[0] == '\0';
}

std::string own_store_directory() {
  const char* state = std::getenv("XDG_STATE_HOME");
  // The specification has relative values ignored.
  return (state != nullptr && state[0] == '/' ? std::string(state) : home() + "/.local/state") + "/holdfast";
}

/// As the XDG specification asks: what is missing on the way is made for this user alone.
void make_private_directories(const std::string& path) {
  for (auto slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const auto part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST)
      throw error({errc::rejected, "cannot make " + part + ": " + std::strerror(errno)}, "connect", {});
    if (slash == std::string::npos) return;
  }
}

}  // namespace

subscription::subscription(std::shared_ptr<detail::subscription_state> state) noexcept : state_(std::move(state)) {}
void subscription::cancel() {
  if (state_) state_->cancel();
}

client::client(std::shared_ptr<detail::engine> engine)
    : engine_(std::move(engine)), user_(nullptr, [out = engine_->outlet()](const void*) { out->shut(); }) {}

std::vector<entry> client::inspect(std::string_view prefix) const {
  const std::string wanted(prefix);
  return detail::ask<std::vector<entry>>(*engine_, "inspect", wanted,
                                         [&](auto done) { engine_->store().inspect(wanted, std::move(done)); });
}

bool client::evict(std::string_view name) {
  const std::string wanted(name);
  if (auto good = detail::check_name(wanted); !good) throw error(good.error(), "evict", {});
  detail::require_own_process(*engine_, "evict", wanted);
  // Asked once: sent again after a lost answer it would evict the next holder too.
  auto done = detail::wait_for<bool>([&](auto d) { engine_->store().evict(wanted, std::move(d)); });
  if (!done) throw error(std::move(done.error()), "evict", wanted);
  return *done;
}

std::vector<finding> client::examine() const {
  return detail::ask<std::vector<finding>>(*engine_, "examine", {},
                                           [&](auto done) { engine_->store().examine(std::move(done)); });
}

subscription client::watch(std::string_view prefix, std::function<void(const change&)> callback) {
  detail::require_own_process(*engine_, "watch", std::string(prefix));
  auto state = std::make_shared<detail::subscription_state>(engine_, std::string(prefix), std::move(callback));
  state->begin();
  engine_->keep(state);
  return subscription(std::move(state));
}

void client::on_event(std::function<void(const event&)> callback) {
  detail::require_own_process(*engine_, "on_event", {});
  engine_->on_event(std::move(callback));
}
client_stats client::stats() const { return engine_->stats(); }
const std::string& client::url() const noexcept { return engine_->url(); }

client connect(std::string_view url, client_options options) {
  auto opened = detail::open_engine(url, std::move(options));
  if (!opened) throw error(std::move(opened.error()), "connect", {});
  return client(std::move(*opened));
}

client connect(client_options options) {
  if (own_store_is_meant()) make_private_directories(own_store_directory());
  return connect(default_url(), std::move(options));
}

std::string default_url() {
  if (!own_store_is_meant()) return std::getenv("HOLDFAST_STORE");
  return "sqlite://" + escaped(own_store_directory() + "/locks.db");
}

}  // namespace holdfast
