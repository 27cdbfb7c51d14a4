#pragma once

#include "contender.hpp"

#include <holdfast/uri.hpp>

#include <hiredis/hiredis.h>

#include <initializer_list>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// hiredis as anybody would use it: one blocking connection, one command at a time.
namespace holdfast::bench::raw_redis {

struct free_reply {
  void operator()(redisReply* reply) const { ::freeReplyObject(reply); }
};
using reply_ptr = std::unique_ptr<redisReply, free_reply>;

class connection {
 public:
  connection(const uri& where, const uri::endpoint& host) {
    const int port = host.port.value_or(6379);
    context_.reset(where.scheme == "redis+unix" ? ::redisConnectUnix(where.path.c_str())
                                                : ::redisConnect(host.host.c_str(), port));
    if (!context_ || context_->err != 0)
      throw std::runtime_error(std::string("redis floor: ") + (context_ ? context_->errstr : "out of memory"));
    if (!where.user.empty())
      ask({"AUTH", where.user, where.password});
    else if (!where.password.empty())
      ask({"AUTH", where.password});
  }

  reply_ptr ask(std::initializer_list<std::string_view> words) {
    say(words);
    return hear();
  }
  void say(std::initializer_list<std::string_view> words) {
    const char* text[12];
    std::size_t length[12];
    std::size_t n = 0;
    for (const auto word : words) {
      text[n] = word.data();
      length[n++] = word.size();
    }
    ::redisAppendCommandArgv(context_.get(), static_cast<int>(n), text, length);
  }
  reply_ptr hear() {
    void* raw = nullptr;
    if (::redisGetReply(context_.get(), &raw) != REDIS_OK)
      throw std::runtime_error(std::string("redis floor: ") + context_->errstr);
    reply_ptr reply(static_cast<redisReply*>(raw));
    if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error(std::string("redis floor: ") + reply->str);
    return reply;
  }

 private:
  struct close {
    void operator()(redisContext* context) const { ::redisFree(context); }
  };
  std::unique_ptr<redisContext, close> context_;
};

/// The lock everybody writes first: SET NX PX, and a script that deletes what is still ours.
class single_key {
 public:
  single_key(const uri& where, const uri::endpoint& host, std::string key, std::string owner)
      : wire_(where, host), key_(std::move(key)), owner_(std::move(owner)) {
    hash_ =
        wire_
            .ask({"SCRIPT", "LOAD",
                  "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end"})
            ->str;
  }

  bool acquire() { return wire_.ask({"SET", key_, owner_, "NX", "PX", "30000"})->type != REDIS_REPLY_NIL; }
  bool release() { return wire_.ask({"EVALSHA", hash_, "1", key_, owner_})->integer == 1; }

 private:
  connection wire_;
  std::string key_;
  std::string owner_;
  std::string hash_;
};

inline std::string random_owner() {
  std::random_device random;
  std::string owner;
  for (int i = 0; i < 4; ++i) owner += std::to_string(random());
  return owner;
}

inline uri parse(const std::string& url) {
  auto parsed = uri::parse(url);
  if (!parsed) throw std::runtime_error("redis floor: " + parsed.error().detail);
  if (parsed->hosts.empty()) parsed->hosts.push_back({});
  return *parsed;
}

}  // namespace holdfast::bench::raw_redis
