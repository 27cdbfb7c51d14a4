#pragma once

#include <string_view>

/// The Lua of scripts. The first key they are given is the name, `raw`; all others are made of it, in its slot. (Those
/// are given too where that matters, which is in a cluster.)
///   raw                     Redisson's: hash of a lock, number of a semaphore or latch
///   redisson_lock_token     no fencing token was greater; see lua_draw
///   redisson_lock_queue     (list) and redisson_lock_timeout (due): the fair queue
///   {raw}:timeout           (slots) zset of expirable permits
///   holdfast_last           who of ours has the mutex, or had it last; see lua_seat. Out of date if raw is not his
///   holdfast_held           hash, owner -> what inspect shows of a holder of ours, of other kinds than mutex
///   holdfast_wait           hash, owner -> the same of a waiter of ours
///   holdfast_line           zset, our waiters in the order they came (fair mutexes: redisson_lock_queue)
///   holdfast_kind           (mark) what made the number at raw; of permits with their limit
/// Arguments: 1 flags: kind (m mutex, s shared_mutex, p permits, c semaphore, l latch), counter (h hybrid tokens, r
/// Redisson's, q a quorum's), ways (n on a single server; in a cluster the commands that publish to Redisson's
/// channels: p PUBLISH, s SPUBLISH, b both), then each script's own; those from 2 on stand above each text.
///
/// A script is made of a part of these, in this order: head, leave_alone, clock, turns, a usual case of mutexes, keys,
/// line, prelude, its own. Whatever finds its case answers it, so that the rest is not run. @draw, @seat and @move_up
/// stand for those texts: in place where a function would cost too much.
namespace holdfast::redis {

extern const std::string_view lua_head;
extern const std::string_view lua_leave_alone;
extern const std::string_view lua_clock;
extern const std::string_view lua_turns;
extern const std::string_view lua_enter_mutex;
extern const std::string_view lua_hand_over;
extern const std::string_view lua_draw;
extern const std::string_view lua_seat;
extern const std::string_view lua_move_up;
extern const std::string_view lua_keys;
extern const std::string_view lua_line;
extern const std::string_view lua_prelude;
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
extern const std::string_view lua_plain_head;
extern const std::string_view lua_plain_prelude;
extern const std::string_view lua_plain_enter_free;
extern const std::string_view lua_plain_enter;
extern const std::string_view lua_plain_leave_alone;
extern const std::string_view lua_plain_leave;
extern const std::string_view lua_plain_owns;
extern const std::string_view lua_plain_describe;
extern const std::string_view lua_plain_evict;

}  // namespace holdfast::redis
