#pragma once

#include <string_view>

/// The Lua of scripts. Keys of those with the prelude, for a name `raw`:
///   1 raw             Redisson's: hash of a lock, number of a semaphore or latch
///   2 holdfast_held   hash, owner -> what inspect shows of a holder of ours
///   3 holdfast_wait   hash, owner -> the same of a waiter of ours
///   4 holdfast_line   zset, our waiters in the order they came (fair mutexes: key 6)
///   5 redisson_lock_token   6 redisson_lock_queue   7 redisson_lock_timeout   8 raw's zset of expirable permits
///   9 holdfast_kind   what made the number at raw; of permits with their limit
/// Arguments: 1 kind (m mutex, s shared_mutex, p permits, c semaphore, l latch), 2 tag: raw in the braces that keep
/// derived keys in its slot, 3 counter: h hybrid tokens, r Redisson's, q a quorum's, of a cluster with the commands
/// that publish to Redisson's channels after it (`h SPUBLISH`), then each script's own from 4 on.
namespace holdfast::redis {

extern const std::string_view lua_head;
extern const std::string_view lua_line;
extern const std::string_view lua_prelude;
extern const std::string_view lua_enter_free;
extern const std::string_view lua_leave_alone;
extern const std::string_view lua_enter;
extern const std::string_view lua_leave;
extern const std::string_view lua_renew;
extern const std::string_view lua_owns;
extern const std::string_view lua_renew_mutexes;
extern const std::string_view lua_yield;
extern const std::string_view lua_convert;
extern const std::string_view lua_raise;
extern const std::string_view lua_count;
extern const std::string_view lua_exchange_cell;
extern const std::string_view lua_admit;
extern const std::string_view lua_describe;
extern const std::string_view lua_evict;

/// Those of the plain layout, where a lock is one string. Keys, for a lock at `raw`: 1 raw, 2 holdfast_plain_held, 3
/// holdfast_plain_wait, 4 holdfast_plain_line, each as above, 5 holdfast_plain_token, 6 holdfast_plain_turn: since when
/// the lock has gone from one of us to the next, or until when it is left to others, in ms. Arguments and replies as
/// those of the scripts above.
extern const std::string_view lua_plain_prelude;
extern const std::string_view lua_plain_enter_free;
extern const std::string_view lua_plain_enter;
extern const std::string_view lua_plain_leave_alone;
extern const std::string_view lua_plain_leave;
extern const std::string_view lua_plain_owns;
extern const std::string_view lua_plain_describe;
extern const std::string_view lua_plain_evict;

}  // namespace holdfast::redis
