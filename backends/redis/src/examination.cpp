#include "doctor.hpp"
#include "keys.hpp"
#include "redis_backend.hpp"

#include <array>
#include <charconv>
#include <mutex>

namespace holdfast::redis {

namespace {

// Does what the scripts of locks do, on a key of its own that ends by itself. Keys: that. Every command the user may
// not run, and every channel it may not publish to.
constexpr std::string_view lua_try_rights = R"lua(
local key, out = KEYS[1], {}
local function try(what, ...)
  local said = redis.pcall(...)
  local why = type(said) == 'table' and said.err
  if why and (string.find(why, 'NOPERM') or string.find(why, 'ACL failure') or
              string.find(why, "executing the script can't", 1, true)) then
    out[#out + 1] = what
  end
end
local one, two, three = {'TYPE', 'GET', 'PTTL', 'STRLEN', 'PERSIST', 'DEL', 'HLEN', 'HKEYS', 'HGETALL', 'LPOP', 'ZCARD'},
  {'HGET', 'HEXISTS', 'HDEL', 'LINDEX', 'ZSCORE', 'ZRANK', 'ZREM', 'HMGET'},
  {'LRANGE', 'LREM', 'ZRANGE', 'ZRANGEBYSCORE', 'ZCOUNT'}
try('EXISTS', 'EXISTS', key)
for _, name in ipairs(one) do try(name, name, key) end
for _, name in ipairs(two) do try(name, name, key, '0') end
for _, name in ipairs(three) do try(name, name, key, '0', '0') end
try('SET', 'SET', key, '1', 'PX', '100')
try('INCRBY', 'INCRBY', key, '1')
try('DECRBY', 'DECRBY', key, '1')
try('PEXPIRE', 'PEXPIRE', key, '100')
-- Of the wrong type by now: refused, but not for want of a right.
try('HSET', 'HSET', key, 'a', '1')
try('HSETNX', 'HSETNX', key, 'a', '1')
try('HINCRBY', 'HINCRBY', key, 'a', '1')
try('RPUSH', 'RPUSH', key, 'a')
try('ZADD', 'ZADD', key, '1', 'a')
try('ZINCRBY', 'ZINCRBY', key, '1', 'a')
redis.pcall('DEL', key)
try('TIME', 'TIME')
try('PUBSUB NUMSUB', 'PUBSUB', 'NUMSUB', 'holdfast_client:doctor')
for _, channel in ipairs(ARGV) do try('PUBLISH to ' .. channel .. ':*', 'PUBLISH', channel .. ':doctor', '') end
try('PUBLISH to holdfast_event', 'PUBLISH', 'holdfast_event', '')
return out
)lua";

const script& try_rights() {
  static const script& it = *new script(std::string(lua_try_rights));
  return it;
}

constexpr std::array asked{"save",       "appendfsync", "min-replicas-to-write", "timeout", "tcp-keepalive",
                           "maxclients", "databases"};

}  // namespace

/// Collects what the server says, then tells what it means. What it refuses or cannot say is left out.
class examination : public std::enable_shared_from_this<examination> {
 public:
  examination(settings where, symptoms seen, spi::completion<std::vector<finding>> done)
      : where_(std::move(where)), done_(std::move(done)), seen_(std::move(seen)) {}

  /// An answer to come.
  template <class Note>
  auto expect(Note note) {
    const std::lock_guard lock(mutex_);
    ++left_;
    return [self = shared_from_this(), note](const auto& said) {
      self->settle([&](symptoms& seen) { note(seen, said); });
    };
  }
  /// One answer less; the first is that all were asked for.
  template <class Note>
  void settle(Note note) {
    std::unique_lock lock(mutex_);
    note(seen_);
    if (--left_ != 0) return;
    lock.unlock();
    done_(judge(seen_, where_));
  }

 private:
  const settings where_;
  spi::completion<std::vector<finding>> done_;
  std::mutex mutex_;
  std::size_t left_ = 1;
  symptoms seen_;
};

namespace {

std::int64_t wall_clock() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

bool refused(const result<void>& said) { return !said && said.error().code == errc::rejected; }

}  // namespace

void redis_backend::examine(spi::completion<std::vector<finding>> done) {
  courier_.ask({}, {"INFO"}, spi::caller::must_not_block,
               [this, done = std::move(done)](const result<reply>& said) mutable {
                 if (!said && said.error().code == errc::unavailable) return done(said.error());
                 symptoms seen;
                 if (said) seen.info = lines_of(said->text());
                 const auto all = std::make_shared<examination>(where_, std::move(seen), std::move(done));
                 ask_for_settings(all);
                 ask_for_rights(all);
                 all->settle([](symptoms&) {});
               });
}

void redis_backend::ask_for_settings(const std::shared_ptr<examination>& all) {
  const auto ask = [&](const std::vector<std::string_view>& command, auto note) {
    courier_.ask({}, command, spi::caller::must_not_block, all->expect(note));
  };
  ask({"CLUSTER", "INFO"}, [](symptoms& seen, const result<reply>& said) {
    if (said) seen.cluster = lines_of(said->text());
  });
  for (const char* name : asked) {
    ask({"CONFIG", "GET", name}, [name](symptoms& seen, const result<reply>& said) {
      if (said && said->size() == 2) seen.config[name] = said->at(1).text();
    });
  }
  ask({"TIME"}, [before = wall_clock()](symptoms& seen, const result<reply>& said) {
    if (!said) return;
    const auto theirs = said->at(0).integer() * 1'000'000 + said->at(1).integer();
    const auto ours = before + (wall_clock() - before) / 2;
    seen.ahead = std::chrono::microseconds(theirs - ours);
  });
}

void redis_backend::ask_for_rights(const std::shared_ptr<examination>& all) {
  words channels{"holdfast_client"};
  if (layout_.others_publish()) channels.insert(channels.end(), {"redisson_lock__channel", "redisson_rwlock"});
  run(try_rights(), {own_key("doctor", random_uuid())}, channels, spi::caller::must_not_block,
      all->expect([](symptoms& seen, const result<reply>& said) {
        seen.tried = said.has_value();
        if (!said && said.error().code == errc::rejected) seen.untried = said.error().detail;
        for (std::size_t i = 0; said && i < said->size(); ++i) seen.forbidden.emplace_back(said->at(i).text());
      }));
  if (witnesses_) {
    courier_.ask({}, {"WAIT", "0", "1"}, spi::caller::must_not_block,
                 all->expect([](symptoms& seen, const result<reply>& said) {
                   if (!said && said.error().code == errc::rejected) seen.forbidden.emplace_back("WAIT");
                 }));
  }
  const auto listen = [&](const subject& to, auto note) {
    ears_->listen(to, [this, to, told = all->expect(note)](const result<void>& said) {
      ears_->ignore(to);
      told(said);
    });
  };
  for (const auto& channel : channels) {
    listen({subject::kind::channel, channel + ":doctor"}, [channel](symptoms& seen, const result<void>& said) {
      if (refused(said)) seen.forbidden.push_back("SUBSCRIBE to " + channel + ":*");
    });
  }
  listen({subject::kind::pattern, fair_pattern(random_uuid())},
         [](symptoms& seen, const result<void>& said) { seen.patterns_forbidden = refused(said); });
}

}  // namespace holdfast::redis
