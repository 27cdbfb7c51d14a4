#include "script_text.hpp"

namespace holdfast::redis {

// 1 what the owner tells of itself (see compose() in the prelude); its flags also have the order (a, f) and whether it
// stays in line (0, 1). 2 owner, 3 place in line, none or empty: at its end; of kinds other than mutex also 4 limit, 5
// how long to remember the answer in ms. Replies: {1, first token, tokens, ms left, server time}: granted; a text alone
// is token and time of all that was asked for. {0, ms left or -1, rank, 1 if others than we may free it, server time}:
// busy. {2, kind}: in use as that. {3, limit}: in use with that many permits.
const std::string_view lua_enter = R"lua(
local e = parse('0 0 ' .. flags)
local limit = tonumber(ARGV[4])
remember = ARGV[5]
local fair = kind == 'm' and string.sub(flags, 4, 4) == 'f'

local function granted(begin) return {1, begin, e.count, e.ttl, now} end

if kind == 's' and call('EXISTS', raw, held, wait, list) == 0 then
  -- Before the first write: without the right to tell of it nothing is written.
  call('PUBLISH', 'holdfast_event', raw)
  return granted(grant(owner, e))
end

local use = present()
if use == 'i' and kind ~= 'p' then
  call('DEL', raw, mark)
  use = nil
end
local number = kind == 'p' or kind == 'c' or kind == 'l'
if use and use ~= 'i' and use ~= kind and not (use == '?' and number) then return {2, use} end
if not use then call('DEL', held) end

local left = holding(owner, e.hex)
if left then
  if number and kind ~= 'p' then return {1, 0, 1, 0, now} end
  local stored = entry(owner)
  local known = stored and parse(stored)
  if known then return {1, known.first, known.count, left, now} end
  -- The lock is ours but nothing is known of it: draw again, never the same token twice.
  draw(e.count)
  if kind == 'm' then
    if left <= 0 then left = tonumber(e.ttl) end
    seat(owner, left, e.told)
  else
    call('HSET', held, owner, compose(e, first))
  end
  return {1, first, e.count, left, now}
end

if kind == 'p' then
  local total = (tonumber(call('GET', raw)) or 0) + call('ZCARD', slots)
  if total ~= limit or call('EXISTS', raw) == 0 then
    if use and use ~= 'i' then return {3, total} end
    call('SET', raw, limit)
  end
  call('SET', mark, 'p ' .. limit)
end

-- What is granted to us below is what we ask for now, as many tokens as the answer tells.
local stored = call('HGET', wait, owner)
local queued = stored and parse(stored)
if queued then call('HSET', wait, owner, compose(e, now, queued.since)) end

local mine = pass_on(nil, owner)
if not mine then
  local ahead = 0
  if kind == 'm' then ahead = call('EXISTS', list) end
  if kind ~= 'l' then ahead = ahead + call('EXISTS', line) end
  if ahead == 0 and fits(e.access, tonumber(e.permits)) then mine = grant(owner, e) end
end
if mine then
  changed()
  return granted(mine)
end

local rank = 0
if string.sub(flags, 5, 5) == '1' then
  if fair then
    local score = tonumber(call('ZSCORE', due, owner))
    if not score then
      local tail = call('LINDEX', list, -1)
      local base = tail and tonumber(call('ZSCORE', due, tail))
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
    if call('HSETNX', wait, owner, compose(e, now)) == 1 then changed() end
  else
    rank = get_in_line(owner, e, ARGV[3])
  end
  keep(wait, 3600000)
end

local foreign = 1
left = -1
if kind == 'm' then
  local holder = call('HKEYS', raw)[1]
  if holder and entry(holder) then foreign = 0 end
  left = call('PTTL', raw)
elseif kind == 's' then
  if call('HLEN', raw) - 1 <= call('HLEN', held) then foreign = 0 end
  left = call('PTTL', raw)
elseif kind == 'p' then
  local next = call('ZRANGE', slots, 0, 0, 'WITHSCORES')[2]
  if next then left = math.max(0, tonumber(next) - ms) end
end
return {0, left, rank, foreign, now}
)lua";

// 2 owner; of kinds other than mutex also 3 hex id, 4 permits. 1: a grant ended or the line was left; 0: there was
// neither.
const std::string_view lua_leave = R"lua(
local hex, permits = ARGV[3], tonumber(ARGV[4])

if ended then
  if theirs then
    announce(channel(), '0')
    local _, head = first_in_line()
    if head and call('ZSCORE', line, head) then publish(client_of(head), 'l ' .. head) else pass_on('0') end
    return 1
  end
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
      if longest > 0 then call('PEXPIRE', raw, longest) end
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

// 2 owner, 3 hex id, 4 permits, 5 ttl in ms. 1: renewed, 0: lost.
const std::string_view lua_renew = R"lua(
local hex, ttl = ARGV[3], ARGV[5]
if not holding(owner, hex) then return 0 end
if kind == 'p' then
  for _, id in ipairs(slot_ids(hex, tonumber(ARGV[4]))) do call('ZADD', slots, text(ms + ttl), id) end
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

// Behind one that tells who owns a lock. Keys: raw and holdfast_last (plain: holdfast_plain_held) of each; arguments:
// owner and ttl of each. An array of 1: renewed, 0: lost.
const std::string_view lua_renew_mutexes = R"lua(
local out = {}
for i = 1, #KEYS, 2 do
  local n = (i + 1) / 2
  out[n] = 0
  if owns(KEYS[i], ARGV[i]) then
    redis.call('PEXPIRE', KEYS[i], ARGV[i + 1])
    redis.call('PEXPIRE', KEYS[i + 1], ARGV[i + 1] .. '0')
    out[n] = 1
  end
end
return out
)lua";

// 2 owner, 3 hex id, 4 place. 1: nobody is before that place, it is still ours; 0: it went on, and we are in line; -1:
// not ours.
const std::string_view lua_yield = R"lua(
if not holding(owner, ARGV[3]) then return -1 end
local head = call('ZRANGE', line, 0, 0, 'WITHSCORES')
if not head[1] then return 1 end
local place = tonumber(ARGV[4])
local ahead = tonumber(head[2]) < place
if tonumber(head[2]) == place then
  -- In the same microsecond: every server must decide it in the same way.
  local other = parse(call('HGET', wait, head[1]) or '')
  ahead = other and other.hex < ARGV[3]
end
if not ahead then return 1 end
local e = parse(entry(owner) or '')
if not e then return 1 end
call('HDEL', raw, owner)
get_in_line(owner, e, ARGV[4])
pass_on('0', owner)
changed()
return holding(owner, ARGV[3]) and 1 or 0
)lua";

// 2 owner, 3 hex id, 4 access wanted. 1: done, 0: not now, -1: not ours.
const std::string_view lua_convert = R"lua(
local to = ARGV[4]
local left = holding(owner, ARGV[3])
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
if stored then call('HSET', held, owner, (string.gsub(stored, ' %a ', ' ' .. to .. ' ', 1))) end
if to == 's' then pass_on('1') end
changed()
return 1
)lua";

// 2 owner, 3 hex id, 4 floor. 1: done, -1: not ours.
const std::string_view lua_raise = R"lua(
if not holding(owner, ARGV[3]) then return -1 end
local floor, count = tonumber(ARGV[4]), tonumber(call('GET', token)) or 0
if counter == 'r' then call('PERSIST', token) end
if count >= floor then
  -- Whoever is told that the key is as it was would stay below the floor.
  if last and kind == 'm' and counter == 'h' then call('INCR', token) end
  return 1
end
if counter == 'r' or call('PTTL', token) == -1 then
  call('SET', token, ARGV[4])
else
  call('SET', token, ARGV[4], 'PX', text(86400000 + math.max(0, floor - us) / 1000))
end
return 1
)lua";

}  // namespace holdfast::redis
