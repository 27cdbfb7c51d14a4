#include "inspection.hpp"

#include "items.hpp"
#include "keys.hpp"
#include "memcached_backend.hpp"
#include "memcached_error.hpp"
#include "record.hpp"

#include <poll.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace holdfast::memcached {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t at_once = 200;  // items asked for in one go

/// Others may have keys that no command of ours can name.
bool can_be_asked_for(const std::string& key) {
  return key.size() <= 250 && std::none_of(key.begin(), key.end(),
                                           [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; });
}

/// Every key of ours on one server, bucket by bucket of its table: the other listing, along the lists of what was used
/// last, misses what is used meanwhile. One listing at a time: the server says BUSY to the others.
result<std::vector<std::string>> keys_on(conversation& with, steady::time_point deadline) {
  for (;;) {
    auto said = with.ask("lru_crawler metadump hash\r\n", 1, deadline);
    if (!said) return said.error();
    const reply& all = said->front();
    if (all.kind == reply::what::list) {
      std::vector<std::string> keys;
      for (const auto& line : all.lines)
        if (auto key = key_in_listing(line); can_be_asked_for(key)) keys.push_back(std::move(key));
      return keys;
    }
    auto why = failure_of(all.text);
    if (why.code != errc::unavailable || steady::now() >= deadline) return why;
    ::poll(nullptr, 0, 5);
  }
}

/// Over, as far as can be told: by the holder's wall clock, which may be off, and by the server's, which has whole
/// seconds.
bool over(const record& what, const holder& one, std::int64_t left, std::int64_t now) {
  const auto passed = std::max<std::int64_t>(0, what.lifetime - left);
  return one.until <= now && (passed + 1) * 1000 >= one.ttl;
}

participant shown(const holder& one, std::uint64_t token, std::int64_t now) {
  participant out;
  out.owner = one.id;
  out.token = fencing_token(token);
  out.host = one.host;
  out.pid = one.pid;
  out.client_name = one.client_name;
  out.since = std::chrono::system_clock::time_point(std::chrono::microseconds(one.since));
  out.remaining = std::chrono::microseconds(std::clamp<std::int64_t>(one.until - now, 0, one.ttl * 1000));
  out.permits = one.permits;
  return out;
}

class listing {
 public:
  explicit listing(const std::string& prefix) : prefix_(prefix) {}

  void add(const reply& said, const std::string& key, std::uint64_t era) {
    auto what = record::decoded(said.body);
    if (!what || !what->name.starts_with(prefix_)) return;
    const auto now = wall_clock();
    const bool waits = key.starts_with(wait_keys);
    const auto left = static_cast<std::int64_t>(said.number('t'));
    for (const auto& one : what->holders) {
      if (!waits && over(*what, one, left, now)) continue;
      entry& into = all_[what->name];
      into.name = what->name;
      into.kind = to_string(what->kind);
      const auto token = one.token != 0 ? one.token : server_life::token(era, said.number('c'));
      auto who = shown(one, waits ? 0 : token, now);
      if (waits) who.remaining = 0ns;
      (waits ? into.waiters : into.holders).push_back(std::move(who));
    }
  }

  std::vector<entry> take() {
    std::vector<entry> out;
    for (auto& [name, one] : all_) {
      // Not a queue, but who came first is shown first.
      std::sort(one.waiters.begin(), one.waiters.end(),
                [](const participant& a, const participant& b) { return a.since < b.since; });
      out.push_back(std::move(one));
    }
    return out;
  }

 private:
  const std::string& prefix_;
  std::map<std::string, entry> all_;
};

result<void> read_server(const address& one, const settings& where, listing& into, steady::time_point deadline) {
  auto with = conversation::open(one, where, deadline);
  if (!with) return with.error();
  auto keys = keys_on(*with, deadline);
  if (!keys) {
    keys.error().detail = "memcached " + one.shown() + ": " + keys.error().detail;
    return keys.error();
  }
  for (std::size_t from = 0; from < keys->size(); from += at_once) {
    const auto count = std::min(at_once, keys->size() - from);
    std::string commands;
    for (std::size_t i = 0; i < count; ++i) commands += "mg " + (*keys)[from + i] + " v c t\r\n";
    auto said = with->ask(commands, count, deadline);
    if (!said) return said.error();
    for (std::size_t i = 0; i < count; ++i)
      if ((*said)[i].kind == reply::what::value) into.add((*said)[i], (*keys)[from + i], with->era());
  }
  return {};
}

}  // namespace

std::string key_in_listing(std::string_view line) {
  if (line.starts_with("key=")) line.remove_prefix(4);
  line = line.substr(0, line.find(' '));
  std::string key;
  for (std::size_t i = 0; i < line.size(); ++i) {
    unsigned byte = 0;
    if (line[i] == '%' && i + 2 < line.size() &&
        std::from_chars(line.data() + i + 1, line.data() + i + 3, byte, 16).ptr == line.data() + i + 3) {
      key += static_cast<char>(byte);
      i += 2;
    } else {
      key += line[i];
    }
  }
  return key;
}

result<std::vector<entry>> list(const settings& where, const std::string& prefix, steady::time_point deadline) {
  listing all(prefix);
  for (const auto& one : where.servers)
    if (auto good = read_server(one, where, all, deadline); !good) return good.error();
  return all.take();
}

void memcached_backend::inspect(const std::string& prefix, spi::completion<std::vector<entry>> done) {
  const auto deadline = steady::now() + std::min<std::chrono::nanoseconds>(engine_.options().request_timeout, 1h);
  engine_.post([this, prefix, deadline, done = std::move(done)]() mutable { done(list(where_, prefix, deadline)); });
}

}  // namespace holdfast::memcached
