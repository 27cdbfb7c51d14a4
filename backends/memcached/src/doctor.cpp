#include "doctor.hpp"

#include <charconv>
#include <cstdlib>
#include <string>
#include <utility>

namespace holdfast::memcached {

namespace {

using level = finding::level;

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

class report {
 public:
  report(const symptoms& seen, const settings& where) : seen_(seen), where_(where) {}

  void server();
  void promises();
  void memory();
  void connections();
  void listing();
  void clock();
  void secrecy();
  std::vector<finding> take() && { return std::move(found_); }

 private:
  void add(level how, std::string text) {
    // With several servers each finding says whose it is.
    if (where_.servers.size() > 1) text = seen_.server.shown() + ": " + text;
    found_.push_back({how, std::move(text)});
  }
  std::uint64_t stat(std::string_view name) const { return number(seen_.stats.stat(name)); }
  std::string_view setting(std::string_view name) const { return seen_.settings.stat(name); }

  const symptoms& seen_;
  const settings& where_;
  std::vector<finding> found_;
};

void report::server() {
  add(level::fact,
      "memcached " + std::string(seen_.stats.stat("version")) + ", up for " + std::to_string(stat("uptime")) + " s");
  if (setting("cas_enabled") == "no")
    add(level::danger,
        "items have no versions (-C): locks cannot be released safely and are refused; start it without -C");
}

void report::promises() {
  add(level::warning,
      "best effort: memcached is a cache. It keeps locks in memory only, has no replica of them, and a restart or "
      "flush_all forgets all of them: a second holder may get in before the first learns of it at its next renewal. "
      "Check the token where it matters (fence), or use another store");
  add(level::fact, "it expires by whole seconds: a dead holder's lock comes free up to three seconds after its ttl");
  add(level::fact,
      "tokens increase over evictions, flushes and restarts, unless its wall clock is set back before one");
  if (where_.servers.size() > 1)
    add(level::fact, "each name lives on one of " + std::to_string(where_.servers.size()) +
                         " servers and on no other: while that one is away its names cannot be locked");
}

void report::memory() {
  const auto limit = number(setting("maxbytes"));
  const auto used = stat("bytes");
  const auto evicted = stat("evictions");
  const std::string full = mebibytes(used) + " of " + mebibytes(limit) + " (-m) are in use";
  if (setting("evictions") == "off")
    add(level::fact, "it evicts nothing (-M): a full memory refuses new locks instead of forgetting old ones; " + full);
  else if (evicted > 0)
    add(level::danger, "it has evicted " + std::to_string(evicted) +
                           " items since its start, and next time it may be a lock that is held; give it more memory "
                           "(-m), a server of its own, or -M; " +
                           full);
  else
    add(level::warning, "it evicts items when its memory is full, also locks that are held; none so far, " + full +
                            "; give locks a server of their own, or start it with -M");
  if (const auto largest = number(setting("item_size_max")); largest < (std::uint64_t{1} << 20) + 4096)
    add(level::fact, "items of at most " + std::to_string(largest) +
                         " bytes (-I): a cell of one mebibyte does not fit; set it to 2m if you need that");
}

void report::connections() {
  const auto most = stat("max_connections");
  const auto now = stat("curr_connections");
  if (most > 0 && now * 10 >= most * 9)
    add(level::warning, std::to_string(now) + " of " + std::to_string(most) +
                            " connections are taken: processes that come later get no locks; raise -c");
  if (const auto idle = number(setting("idle_timeout")); idle > 0)
    add(level::warning, "idle connections are closed after " + std::to_string(idle) +
                            " s (idle_timeout), and the next lock pays for a new one; set it to 0");
}

void report::listing() {
  if (setting("lru_crawler") == "no" || setting("dump_enabled") == "no")
    add(level::warning, "it does not list its keys (-X or no_lru_crawler): ls, show and watch cannot show anything");
}

void report::clock() {
  const auto off = static_cast<std::int64_t>(stat("time")) - seen_.now;
  if (std::abs(off) <= 2) return add(level::fact, "its clock agrees with ours within two seconds");
  add(level::warning, "its clock is " + std::to_string(std::abs(off)) + " s " + (off > 0 ? "ahead of" : "behind") +
                          " ours: leases do not mind, but tokens count from its start by that clock; run NTP on both");
}

void report::secrecy() {
  if (!where_.user.empty() && setting("auth_enabled_ascii") == "no")
    add(level::warning, "it asks for no password, and was not told ours: start it with an auth file (-Y)");
  const auto& host = seen_.server.host;
  if (host == "localhost" || host == "::1" || host.starts_with("127.")) return;
  add(level::warning, where_.user.empty()
                          ? "it asks for no password: who can reach it can end and forge locks; keep it in a network "
                            "of its own, or start it with an auth file (-Y)"
                          : "the password goes to it in the clear: who can listen on the way can end and forge locks");
}

}  // namespace

std::vector<finding> judge(const symptoms& seen, const settings& where) {
  report all(seen, where);
  all.server();
  all.promises();
  all.memory();
  all.connections();
  all.listing();
  all.clock();
  all.secrecy();
  return std::move(all).take();
}

}  // namespace holdfast::memcached
