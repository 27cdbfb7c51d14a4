#include "script_text.hpp"

namespace holdfast::redis {

// A mutex that is free and that nobody waits for. Arguments and reply as those of lua_enter.
const std::string_view lua_enter_free = R"lua(
if kind == 'm' and call('EXISTS', raw, held, wait, list) == 0 then
  local e = {access = 'x', permits = ARGV[8], ttl = ARGV[10], count = ARGV[11], hex = ARGV[5], who = ARGV[13]}
  changing()
  local first = draw(tonumber(e.count))
  call('HSET', raw, ARGV[4], 1)
  call('PEXPIRE', raw, e.ttl)
  call('HSET', held, ARGV[4], compose(e, first))
  call('PEXPIRE', held, text(e.ttl + 60000))
  return {1, text(first), tonumber(e.count), tonumber(e.ttl), text(us)}
end
)lua";

// 4 owner, 5 hex id, 6 access (x, s), 7 order (a, f), 8 permits, 9 limit, 10 ttl in ms, 11 tokens, 12 stay in line (0,
// 1), 13 who, 14 how long to remember the answer in ms, 15 place in line or empty: at its end. Replies: {1, first
// token, tokens, ms left, server time}: granted. {0, ms left or -1, rank, 1 if others than we may free it, server
// time}: busy. {2, kind}: in use as that. {3, limit}: in use with that many permits.
const std::string_view lua_enter = R"lua(
local owner, limit = ARGV[4], tonumber(ARGV[9])
remember = tonumber(ARGV[14])
local e = {access = ARGV[6], permits = ARGV[8], ttl = ARGV[10], count = ARGV[11], hex = ARGV[5], who = ARGV[13]}
local fair = kind == 'm' and ARGV[7] == 'f'

local function granted(first)
  return {1, text(first), tonumber(e.count), tonumber(e.ttl), text(us)}
end

if kind == 's' and call('EXISTS', raw, held, wait, list) == 0 then
  changing()
  return granted(grant(owner, e))
end

local now = present()
if now == 'i' and kind ~= 'p' then
  call('DEL', raw, mark)
  now = nil
end
local number = kind == 'p' or kind == 'c' or kind == 'l'
if now and now ~= 'i' and now ~= kind and not (now == '?' and number) then return {2, now} end
if not now then call('DEL', held) end

local left = holding(owner, e.hex)
if left then
  local stored = call('HGET', held, owner)
  local before = stored and parse(stored)
  if number and kind ~= 'p' then return {1, '0', 1, 0, text(us)} end
  if before then return {1, before.first, tonumber(before.count), left, text(us)} end
  -- The lock is ours but nothing is known of it: draw again, never the same token twice.
  local first = draw(tonumber(e.count))
  call('HSET', held, owner, compose(e, first))
  return {1, text(first), tonumber(e.count), left, text(us)}
end

if kind == 'p' then
  local total = (tonumber(call('GET', raw)) or 0) + call('ZCARD', slots)
  if total ~= limit or call('EXISTS', raw) == 0 then
    if now and now ~= 'i' then return {3, total} end
    call('SET', raw, limit)
  end
  call('SET', mark, 'p ' .. limit)
end

-- What is granted to us below is what we ask for now, as many tokens as the answer tells.
local stored = call('HGET', wait, owner)
local queued = stored and parse(stored)
if queued then call('HSET', wait, owner, compose(e, ms, queued.since)) end

local first = pass_on(nil, owner)
if not first then
  local ahead = 0
  if kind == 'm' then ahead = call('EXISTS', list) end
  if kind ~= 'l' then ahead = ahead + call('EXISTS', line) end
  if ahead == 0 and fits(e.access, tonumber(e.permits)) then first = grant(owner, e) end
end
if first then
  changed()
  return granted(first)
end

local rank = 0
if ARGV[12] == '1' then
  if fair then
    local score = tonumber(call('ZSCORE', due, owner))
    if not score then
      local last = call('LINDEX', list, -1)
      local base = last and tonumber(call('ZSCORE', due, last))
      base = base and base - ms or math.max(0, call('PTTL', raw))
      call('ZADD', due, text(base + fair_wait + ms), owner)
      call('RPUSH', list, owner)
    end
    for place, other in ipairs(call('LRANGE', list, 0, -1)) do
      if other == owner then rank = place - 1 end
    end
    -- Scores of those behind move up with every turn taken: each is to be as far ahead as there are before it.
    local wanted = ms + fair_wait * (rank + 1)
    if score and score < wanted then call('ZADD', due, text(wanted), owner) end
    if call('HSETNX', wait, owner, compose(e, ms)) == 1 then changed() end
  else
    rank = get_in_line(owner, e, ARGV[15])
  end
  keep(wait, 3600000)
end

local foreign, ends = 1, -1
if kind == 'm' then
  local holder = call('HKEYS', raw)[1]
  if holder and call('HEXISTS', held, holder) == 1 then foreign = 0 end
  ends = call('PTTL', raw)
elseif kind == 's' then
  if call('HLEN', raw) - 1 <= call('HLEN', held) then foreign = 0 end
  ends = call('PTTL', raw)
elseif kind == 'p' then
  local next = call('ZRANGE', slots, 0, 0, 'WITHSCORES')[2]
  if next then ends = math.max(0, tonumber(next) - ms) end
end
return {0, ends, rank, foreign, text(us)}
)lua";

// The end of a mutex nobody waits for.
const std::string_view lua_leave_alone = R"lua(
local ended = kind == 'm' and redis.pcall('HDEL', raw, ARGV[4]) == 1
if ended then
  call('HDEL', held, ARGV[4])
  changed()
  if call('EXISTS', wait, list) == 0 then
    announce('redisson_lock__channel:' .. tag, '0')
    return 1
  end
end
)lua";

// 4 owner, 5 hex id, 6 permits. 1: a grant ended or the line was left; 0: there was neither.
const std::string_view lua_leave = R"lua(
local owner, hex, permits = ARGV[4], ARGV[5], tonumber(ARGV[6])

if ended then
  -- Others than ours want it too: every so often it is theirs for the taking.
  if others_listen() and call('HINCRBY', held, ':turns', 1) > 16 then
    call('DEL', held)
    announce(channel(), '0')
    local _, head = first_in_line()
    if head and call('ZSCORE', line, head) then publish(client_of(head), 'l ' .. head) else pass_on('0') end
    return 1
  end
  keep(held, 3600000)
  pass_on('0')
  return 1
end

local message
if kind ~= 'm' and holding(owner, hex) then
  if kind == 's' then
    local writer = call('HDEL', raw, owner .. ':write') == 1
    call('HDEL', raw, owner)
    call('DEL', reader(owner) .. '1')
    message = writer and '1' or '0'
    local n, longest = live()
    if n > 0 then
      if writer then call('HSET', raw, 'mode', 'read') end
      if longest > 0 then call('PEXPIRE', raw, text(longest)) end
      if not writer then message = nil end
    end
  elseif kind == 'p' then
    local n = 0
    for _, id in ipairs(slot_ids(hex, permits)) do n = n + call('ZREM', slots, id) end
    call('INCRBY', raw, n)
    grown = true
  else
    if kind == 'c' then
      call('INCRBY', raw, permits)
      grown = true
    end
    call('DEL', done(hex))
  end
  call('HDEL', held, owner)
elseif call('ZREM', line, owner) == 1 then
  call('HDEL', wait, owner)
  -- Who is first now may have to listen to others than us.
  local head = call('ZRANGE', line, 0, 0)[1]
  pass_on(nil)
  if head and call('ZSCORE', line, head) then publish(client_of(head), 'l ' .. head) end
  changed()
  return 1
elseif kind == 'm' and call('ZSCORE', due, owner) then
  give_up(owner)
  pass_on(nil)
  changed()
  return 1
else
  return 0
end
pass_on(message)
changed()
return 1
)lua";

// 4 owner, 5 hex id, 6 permits, 7 ttl in ms. 1: renewed, 0: lost.
const std::string_view lua_renew = R"lua(
local owner, hex, ttl = ARGV[4], ARGV[5], ARGV[7]
if not holding(owner, hex) then return 0 end
if kind == 'p' then
  for _, id in ipairs(slot_ids(hex, tonumber(ARGV[6]))) do call('ZADD', slots, text(ms + ttl), id) end
elseif kind == 's' and call('HEXISTS', raw, owner .. ':write') == 0 then
  call('PEXPIRE', reader(owner) .. '1', ttl)
  keep(raw, tonumber(ttl))
else
  call('PEXPIRE', raw, ttl)
end
keep(held, ttl + 60000)
return 1
)lua";

const std::string_view lua_owns = R"lua(
local function owns(raw, owner) return redis.pcall('HEXISTS', raw, owner) == 1 end
)lua";

// Behind one that tells who owns a lock. Keys: raw and holdfast_held of each; arguments: owner and ttl of each. An
// array of 1: renewed, 0: lost.
const std::string_view lua_renew_mutexes = R"lua(
local out = {}
for i = 1, #KEYS, 2 do
  local n = (i + 1) / 2
  out[n] = 0
  if owns(KEYS[i], ARGV[i]) then
    redis.call('PEXPIRE', KEYS[i], ARGV[i + 1])
    redis.call('PEXPIRE', KEYS[i + 1], string.format('%.0f', ARGV[i + 1] + 60000))
    out[n] = 1
  end
end
return out
)lua";

// 4 owner, 5 hex id, 6 place. 1: nobody is before that place, it is still ours; 0: it went on, and we are in line; -1:
// not ours.
const std::string_view lua_yield = R"lua(
local owner, place = ARGV[4], tonumber(ARGV[6])
if not holding(owner, ARGV[5]) then return -1 end
local head = call('ZRANGE', line, 0, 0, 'WITHSCORES')
if not head[1] then return 1 end
local ahead = tonumber(head[2]) < place
if tonumber(head[2]) == place then
  -- In the same microsecond: every server must decide it in the same way.
  local other = parse(call('HGET', wait, head[1]) or '')
  ahead = other and other.hex < ARGV[5]
end
if not ahead then return 1 end
local e = parse(call('HGET', held, owner) or '')
if not e then return 1 end
call('HDEL', raw, owner)
call('HDEL', held, owner)
get_in_line(owner, e, ARGV[6])
pass_on('0', owner)
changed()
return holding(owner, ARGV[5]) and 1 or 0
)lua";

// 4 owner, 5 hex id, 6 access wanted. 1: done, 0: not now, -1: not ours.
const std::string_view lua_convert = R"lua(
local owner, to = ARGV[4], ARGV[6]
local left = holding(owner, ARGV[5])
if not left then return -1 end
local writes = call('HEXISTS', raw, owner .. ':write') == 1
if writes == (to == 'x') then return 1 end
if to == 'x' then
  if live() > 1 or call('EXISTS', line) == 1 then return 0 end
  call('HDEL', raw, owner)
  call('DEL', reader(owner) .. '1')
  call('HSET', raw, 'mode', 'write', owner .. ':write', 1)
  call('PEXPIRE', raw, left)
else
  call('HDEL', raw, owner .. ':write')
  call('HSET', raw, 'mode', 'read', owner, 1)
  call('SET', reader(owner) .. '1', 1, 'PX', math.max(1, left))
end
local stored = call('HGET', held, owner)
if stored then call('HSET', held, owner, string.sub(stored, 1, 2) .. to .. string.sub(stored, 4)) end
if to == 's' then pass_on('1') end
changed()
return 1
)lua";

// 4 owner, 5 hex id, 6 floor. 1: done, -1: not ours.
const std::string_view lua_raise = R"lua(
if not holding(ARGV[4], ARGV[5]) then return -1 end
local floor, last = tonumber(ARGV[6]), tonumber(call('GET', token)) or 0
if counter == 'r' then call('PERSIST', token) end
if last >= floor then return 1 end
if counter == 'r' or call('PTTL', token) == -1 then
  call('SET', token, ARGV[6])
else
  call('SET', token, ARGV[6], 'PX', text(86400000 + math.max(0, floor - us) / 1000))
end
return 1
)lua";

}  // namespace holdfast::redis
