#include "script_text.hpp"

// The usual cases of a mutex, answered with few commands and before the functions of the prelude are made. What costs
// the server, beside commands: every word of the request, every function, every number turned into text. So keys are
// made here of the name, nothing is a function, and numbers that are not reckoned with stay text.

namespace holdfast::redis {

// What every script begins with. `own` ends the keys that are ours.
const std::string_view lua_head = R"lua(
local raw, flags, owner = KEYS[1], ARGV[1], ARGV[2]
local call = redis.call
local tag, own = raw, '::' .. raw
if not string.find(raw, '{', 1, true) then
  tag = '{' .. raw .. '}'
  own = ':' .. tag
end
local kind, counter, ways = string.match(flags, '^(.)(.)(.)')
local wait, list = 'holdfast_wait' .. own, 'redisson_lock_queue:' .. tag
)lua";

// The server's time in microseconds, as text; and what is known of tokens.
const std::string_view lua_clock = R"lua(
local clock = call('TIME')
local now = clock[1] .. string.sub('00000' .. clock[2], -6)
local before  -- what token and last are
local first, newest  -- the tokens drawn
local top, ends  -- what their key is left at, and whether it may end ('1') or counts for Redisson too ('0')
)lua";

const std::string_view lua_turns = R"lua(
local token, last = 'redisson_lock_token:' .. tag, 'holdfast_last' .. own
local turns = '00'  -- how many of ours have had the mutex in turn
local debt = '00'  -- by how many of their turns those in the fair queue have not moved up yet
local fair_wait = 300000  -- Redisson's fairLockWaitTimeout
)lua";

// Sets first and newest of n tokens: greater than every one before, and no less than the clock, so that a server which
// has lost its data goes on above. The key of an idle name may expire, but never one that counts for Redisson too: it
// has no end. One that is ours is left at the end of the second. A mutex that finds it as the one before left it, which
// stands beside the lock with the newest token, does not write it again: it is for others, who go on above. (A quorum's
// clock ticks 15 times a second, so that its servers mostly draw the same.)
const std::string_view lua_draw = R"lua(
before = before or last and call('MGET', token, last) or {call('GET', token), false}
local exact = kind ~= 'm' or counter ~= 'h' or not last
local count, beside = before[1], before[2]
local ours = not exact and count and beside and string.sub(beside, 1, 17) == count .. '1'
if ours and n == '1' and now < count and string.sub(beside, 20, 35) < now then
  first, newest, top, ends = now, now, count, '1'
elseif counter ~= 'r' then
  local base = now
  if counter == 'q' then base = string.format('%d', math.ceil(now / 65536) * 65536) end
  local from = beside and tonumber(string.sub(beside, 20, 35)) or 0
  if not ours then from = math.max(from, tonumber(count) or 0) end
  first, newest, top = base, base, clock[1] .. '999999'
  local life = '86401000'
  if n ~= '1' or from >= tonumber(base) then
    from = math.max(from + 1, tonumber(base))
    first, newest = string.format('%d', from), string.format('%d', from + n - 1)
    if tonumber(newest) > tonumber(top) then
      top = newest
      life = string.format('%d', life + (newest - now) / 1000)
    end
  end
  if not count then
    ends = '1'
  elseif not ends then
    ends = beside and string.sub(beside, 1, 16) == count and string.sub(beside, 17, 17)
      or call('PTTL', token) == -1 and '0' or '1'
  end
  if ends == '0' or exact then top = newest end
  if ends == '0' then
    call('SET', token, top, 'KEEPTTL')
  elseif top ~= count then
    call('PSETEX', token, life, top)
  end
else
  newest = string.format('%d', call('INCRBY', token, n))
  first, top, ends = string.format('%d', newest - n + 1), newest, '0'
  call('PERSIST', token)
end
before = {top, false}
)lua";

// Gives the mutex to `who` with the tokens drawn. Beside it, for as long as it could matter: what the tokens' key was
// left at (16 digits), may it end (1), turns (2), newest token (16), then owner, first token, since when, and what the
// owner told of itself.
const std::string_view lua_seat = R"lua(
call('HSET', raw, who, '1')
call('PEXPIRE', raw, ttl)
if #newest ~= 16 then newest = string.rep('0', 16 - #newest) .. newest end
if #top ~= 16 then top = string.rep('0', 16 - #top) .. top end
call('PSETEX', last, ttl .. '0', top .. ends .. turns .. newest .. debt .. who .. ' ' .. first .. ' ' .. now .. ' ' .. told)
)lua";

// A mutex that is free and that nobody waits for; one that another of ours has. Arguments and reply as those of
// lua_enter.
const std::string_view lua_enter_mutex = R"lua(
if kind == 'm' then
  if call('EXISTS', raw, wait, list) == 0 then
    -- Before the first write: without the right to tell of it nothing is written.
    call('PUBLISH', 'holdfast_event', raw)
    local who, told, ttl, n = owner, flags, string.match(flags, ' (%d+) (%d+)')
    @draw
    @seat
    if first == now and n == '1' then return now end
    return {1, first, n, ttl, now}
  end
  local stored = call('GET', last)
  local at = stored and string.find(stored, ' ', 38, true)
  local holder = at and string.sub(stored, 38, at - 1)
  if holder and holder ~= owner and redis.pcall('HEXISTS', raw, holder) == 1 then
    local left, rank, fresh = call('PTTL', raw), 0, false
    local line = 'holdfast_line' .. own
    if string.sub(flags, 5, 5) == '0' then return {0, left, 0, 0, now} end
    if string.sub(flags, 4, 4) == 'f' then
      local due = 'redisson_lock_timeout:' .. tag
      local tail = call('LINDEX', list, -1)
      local base = tail and call('ZSCORE', due, tail) or string.sub(now, 1, -4) + math.max(0, left)
      fresh = call('ZADD', due, 'NX', string.format('%d', base + fair_wait), owner) == 1
      if fresh then rank = call('RPUSH', list, owner) - 1 end
    else
      local place = ARGV[3]
      fresh = call('ZADD', line, 'NX', place or now, owner) == 1
      if fresh then rank = place and call('ZRANK', line, owner) or call('ZCARD', line) - 1 end
    end
    if fresh then
      call('HSET', wait, owner, now .. ' ' .. now .. ' ' .. flags)
      -- What everybody has forgotten ends by itself.
      if rank == 0 or clock[2] % 64 == 0 then
        call('PEXPIRE', wait, '3600000')
        call('PEXPIRE', line, '3600000')
      end
      redis.pcall('PUBLISH', 'holdfast_event', raw)
      return {0, left, rank, 0, now}
    end
  end
end
)lua";

// The end of a mutex nobody waits for.
const std::string_view lua_leave_alone = R"lua(
local ended, queues = kind == 'm' and redis.pcall('HDEL', raw, owner) == 1, 0
local line = 'holdfast_line' .. own
if ended then
  redis.pcall('PUBLISH', 'holdfast_event', raw)
  queues = call('EXISTS', wait, line, list)
  if queues == 0 then
    local public = 'redisson_lock__channel:' .. tag
    if ways ~= 's' then redis.pcall('PUBLISH', public, '0') end
    if ways == 's' or ways == 'b' then redis.pcall('SPUBLISH', public, '0') end
    return 1
  end
end
)lua";

// The end of a mutex that the first in line, who is one of ours and alive, has from now on.
const std::string_view lua_hand_over = R"lua(
-- Others than ours may want it too: every so often it is theirs for the taking.
local theirs, owed = false, 0
if ended then
  before = call('MGET', token, last)
  local had = before[2] and tonumber(string.sub(before[2], 18, 19)) or 0
  owed = before[2] and tonumber(string.sub(before[2], 36, 37)) or 0
  if had < 16 then
    turns = had < 9 and '0' .. had + 1 or had + 1
  else
    local public = 'redisson_lock__channel:' .. tag
    -- A node of a cluster knows those who listen at it: of plain channels there may be more elsewhere.
    if ways == 'n' then
      theirs = call('PUBSUB', 'NUMSUB', public)[2] > 0
    else
      theirs = ways ~= 's' or call('PUBSUB', 'SHARDNUMSUB', public)[2] > 0
    end
  end
end
-- Two: our waiters and one queue they stand in. Any other case is for the prelude.
if queues == 2 and not theirs then
  local who = call('ZPOPMIN', line)[1]
  local fair = not who
  if fair then who = call('LPOP', list) end
  local stored = who and call('HGET', wait, who)
  local heard, told, ttl, n
  if stored then heard, told, ttl, n = string.match(stored, '^(%d+) %d+ (%S+ (%d+) (%d+) .*)$') end
  local due = 'redisson_lock_timeout:' .. tag
  -- Scores are for others than ours: while there are none in the queue they need not move up with every turn.
  local behind = fair and heard and call('LLEN', list)
  local score = behind and call('HLEN', wait) == behind + 1 and call('ZSCORE', due, who)
  if behind and not (score and score * 1000 > tonumber(now)) then heard = nil end
  local client = who and string.sub(who, 1, 36)
  -- A node of a cluster does not know who hears its letters: see present_at() in the prelude.
  if heard and ways ~= 'n' and call('PUBSUB', 'NUMSUB', 'holdfast_here:' .. client)[2] == 0 then heard = nil end
  if heard and now - heard < 45000000 then
    @draw
    -- A client that hears nothing is not there any more.
    local letter = 'g ' .. who .. ' ' .. first .. ' ' .. now .. ' ' .. told .. '\t' .. raw
    if redis.pcall('PUBLISH', 'holdfast_client:' .. client, letter) ~= 0 or ways ~= 'n' then
      call('HDEL', wait, who)
      if fair then
        call('ZREM', due, who)
        owed = owed + 1
        if behind > 0 and owed < 16 then
          debt = owed < 10 and '0' .. owed or owed
        elseif behind > 0 then
          @move_up
        end
      end
      @seat
      return 1
    end
  end
  if fair and who then
    call('LPUSH', list, who)
  elseif who then
    call('HDEL', wait, who)
  end
end
)lua";

// Redisson's fair queue: those in it move up by as many turns as are owed.
const std::string_view lua_move_up = R"lua(
local all = call('ZRANGE', due, 0, -1, 'WITHSCORES')
for from = 1, #all, 200 do
  local words = {}
  for i = from, math.min(from + 198, #all - 1), 2 do
    words[#words + 1] = string.format('%d', all[i + 1] - owed * fair_wait)
    words[#words + 1] = all[i]
  end
  call('ZADD', due, unpack(words))
end
)lua";

}  // namespace holdfast::redis
