#include "script_text.hpp"

namespace holdfast::redis {

// Keys that the usual cases of a mutex need not know.
const std::string_view lua_keys = R"lua(
local held, slots, mark = 'holdfast_held' .. own, tag .. ':timeout', 'holdfast_kind' .. own
local line, due = 'holdfast_line' .. own, 'redisson_lock_timeout:' .. tag
)lua";

// What every layout has: our line, and how those in it are told.
const std::string_view lua_line = R"lua(
local us = tonumber(now)
local ms = math.floor(us / 1000)

local function text(n) return string.format('%d', n) end

-- What was written stands, though a user without the right to a channel tells nobody.
local function publish(where, what) redis.pcall('PUBLISH', where, what) end
-- The same on a channel of Redisson's.
local function announce(where, what)
  if ways ~= 's' then publish(where, what) end
  if ways == 's' or ways == 'b' then redis.pcall('SPUBLISH', where, what) end
end
local function changed() publish('holdfast_event', raw) end

local function listeners(where) return call('PUBSUB', 'NUMSUB', where)[2] end
local function client_of(owner) return 'holdfast_client:' .. string.sub(owner, 1, 36) end
-- Is the client connected? To a node of a cluster it says so by a channel of its own, as it may hear its letters at
-- another.
local function present_at(owner)
  if ways == 'n' then return listeners(client_of(owner)) > 0 end
  return listeners('holdfast_here:' .. string.sub(owner, 1, 36)) > 0
end

local function keep(key, ttl)
  if call('PTTL', key) < ttl then call('PEXPIRE', key, ttl) end
end

-- An entry of held or wait: first-token since, then what its owner tells of itself: flags ttl tokens access permits
-- hex <tab> who. One that waits has in place of a token when it was last heard of. Times are in microseconds.
local function compose(e, begin, since) return begin .. ' ' .. (since or now) .. ' ' .. e.told end
local function parse(stored)
  local e = {}
  e.first, e.since, e.told, e.kind, e.ttl, e.count, e.access, e.permits, e.hex =
    string.match(stored, '^(%d+) (%d+) ((%a)%S+ (%d+) (%d+) (%a) (%d+) (%x+)\t.*)$')
  return e.first and e
end

local function draw(n)
  @draw
  return first
end

-- Is who waits still there? Its client listens, unless the host is gone without a word; and it looks every 15 seconds,
-- unless it stands still.
local function waits(owner, e) return us - e.first < 45000000 and present_at(owner) end

local function hand(owner, begin, told)
  publish(client_of(owner), 'g ' .. owner .. ' ' .. begin .. ' ' .. now .. ' ' .. told .. '\t' .. raw)
end

-- A place in line, if it has none: the one that is wanted, or at the end. Its rank.
local function get_in_line(owner, e, place)
  local rank = call('ZRANK', line, owner)
  if not rank then
    if not place or place == '' then place = now end
    call('ZADD', line, place, owner)
    call('HSET', wait, owner, compose(e, now))
    changed()
    rank = call('ZRANK', line, owner)
  end
  keep(line, 3600000)
  keep(wait, 3600000)
  return rank
end

-- Those of them that are alive, as describe tells them: owner, entry, ...
local function tell_queue(owners, out)
  for _, owner in ipairs(owners) do
    local stored = call('HGET', wait, owner)
    local e = stored and parse(stored)
    if not e or waits(owner, e) then
      out[#out + 1] = owner
      out[#out + 1] = stored or ''
    end
  end
end
)lua";

// What the scripts share: who holds, who fits, who is next.
const std::string_view lua_prelude = R"lua(
local grown = false  -- permits came back
local only_look = false  -- nothing may be written
local remember = '60000'  -- how long an answer is kept for a request that is sent again

local function seat(who, ttl, told)
  @seat
end

local function channel()
  if kind == 'm' then return 'redisson_lock__channel:' .. tag end
  if kind == 's' then return 'redisson_rwlock:' .. tag end
  if kind == 'l' then return 'redisson_countdownlatch__channel__{' .. raw .. '}' end
  return 'redisson_sc:' .. tag
end

local function reader(owner) return tag .. ':' .. owner .. ':rwlock_timeout:' end
local function done(hex) return 'holdfast_done:' .. tag .. ':' .. hex end

-- What is known of who holds it.
local function entry(owner)
  if kind ~= 'm' then return call('HGET', held, owner) end
  local stored = call('GET', last)
  local at = stored and string.find(stored, ' ', 38, true)
  return at and string.sub(stored, 38, at - 1) == owner and string.sub(stored, at + 1)
end

-- The ids of a claim's permits. The claim's own id makes them, so that sent again they are the same.
local function slot_ids(hex, n)
  local id = string.gsub(string.sub(hex, 1, 26), '..', function(h) return string.char(tonumber(h, 16)) end)
  local all = {}
  for i = 0, n - 1 do
    all[i + 1] = id .. string.char(math.floor(i / 65536) % 256, math.floor(i / 256) % 256, i % 256)
  end
  return all
end

local function grant(owner, e)
  local ttl, n = tonumber(e.ttl), tonumber(e.permits)
  if kind == 'c' or kind == 'l' then
    if kind == 'c' then call('DECRBY', raw, n) end
    call('SET', done(e.hex), 'g' .. e.permits, 'PX', remember)
    return '0'
  end
  draw(e.count)
  if kind == 'm' then
    seat(owner, e.ttl, e.told)
    return first
  end
  if kind == 'p' then
    call('DECRBY', raw, n)
    for _, id in ipairs(slot_ids(e.hex, n)) do call('ZADD', slots, text(ms + ttl), id) end
  elseif e.access == 'x' then
    call('HSET', raw, 'mode', 'write', owner .. ':write', 1)
    call('PEXPIRE', raw, e.ttl)
  else
    call('HSET', raw, 'mode', 'read', owner, 1)
    call('SET', reader(owner) .. '1', 1, 'PX', e.ttl)
    keep(raw, ttl)
  end
  call('HSET', held, owner, compose(e, first))
  keep(held, ttl + 60000)
  return first
end

-- Holders of a read-write lock that are alive, and how long the last of them will be. Readers whose time is over go.
local function live()
  local n, longest = 0, 0
  for _, field in ipairs(call('HKEYS', raw)) do
    local left = -1
    if field == 'mode' then
      left = -3
    elseif string.sub(field, -6) == ':write' then
      left = math.max(0, call('PTTL', raw))
    else
      for i = tonumber(call('HGET', raw, field)) or 0, 1, -1 do left = math.max(left, call('PTTL', reader(field) .. i)) end
    end
    if left >= 0 then
      n = n + 1
      longest = math.max(longest, left)
    elseif left ~= -3 and not only_look then
      call('HDEL', raw, field)
      call('HDEL', held, field)
    end
  end
  if n == 0 and not only_look then call('DEL', raw, held) end
  return n, longest
end

-- Permits whose time is over come back.
local function reclaim()
  local ended = call('ZRANGEBYSCORE', slots, 0, text(ms))
  if #ended == 0 then return end
  for _, id in ipairs(ended) do call('ZREM', slots, id) end
  call('INCRBY', raw, #ended)
  grown = true
  local all = call('HGETALL', held)
  for i = 1, #all, 2 do
    local e = parse(all[i + 1])
    if not e or not call('ZSCORE', slots, slot_ids(e.hex, 1)[1]) then call('HDEL', held, all[i]) end
  end
end

-- How many milliseconds the claim is still held; nil if it is not.
local function holding(owner, hex)
  if kind == 'm' then
    if redis.pcall('HEXISTS', raw, owner) == 1 then return call('PTTL', raw) end
  elseif kind == 's' then
    if redis.pcall('HEXISTS', raw, owner .. ':write') == 1 then return call('PTTL', raw) end
    if redis.pcall('HEXISTS', raw, owner) == 1 then
      local left = call('PTTL', reader(owner) .. '1')
      if left >= 0 then return left end
    end
  elseif kind == 'p' then
    local score = tonumber(call('ZSCORE', slots, slot_ids(hex, 1)[1]))
    if score and score > ms then return score - ms end
  elseif call('EXISTS', done(hex)) == 1 then
    return 0
  end
end

local function fits(access, permits)
  if kind == 'm' then return call('EXISTS', raw) == 0 end
  if kind == 's' then
    local mode = call('HGET', raw, 'mode')
    return not mode or (access == 's' and mode == 'read') or live() == 0
  end
  local value = tonumber(call('GET', raw) or 0)
  if kind == 'l' then return value <= 0 end
  return value >= permits
end

-- Redisson's fair queue: who waited too long goes; scores of those behind one who leaves move up.
local function purge()
  while true do
    local head = call('LINDEX', list, 0)
    local score = head and tonumber(call('ZSCORE', due, head))
    if not score or score > ms then return end
    call('ZREM', due, head)
    call('LPOP', list)
    call('HDEL', wait, head)
  end
end
local function give_up(owner)
  local behind = false
  for _, other in ipairs(call('LRANGE', list, 0, -1)) do
    if behind then call('ZINCRBY', due, -fair_wait, other) end
    behind = behind or other == owner
  end
  call('ZREM', due, owner)
  call('HDEL', wait, owner)
  return call('LREM', list, 0, owner)
end

-- Who waits for it, by the first that is alive: its entry, or true for one that is not ours. The dead before it go.
local function first_in_line()
  local at = 0
  local function next_entry(owner)
    local stored = call('HGET', wait, owner)
    if only_look then at = at + 1 end
    return stored and parse(stored)
  end
  for owner in function() return call('ZRANGE', line, at, at)[1] end do
    local e = next_entry(owner)
    if e and waits(owner, e) then return e, owner end
    if not only_look then
      call('ZREM', line, owner)
      call('HDEL', wait, owner)
    end
  end
  at = 0
  if not only_look then purge() end
  for owner in function() return call('LINDEX', list, at) or nil end do
    local e = next_entry(owner)
    if not e then return true, owner end
    if waits(owner, e) then return e, owner end
    if not only_look then give_up(owner) end
  end
end

-- A hash is a lock if there is nothing in it but what locks have: any other is somebody's data.
local function kind_of_hash()
  local owner = '^%x+%-%x+%-%x+%-%x+%-%x+:%-?%d+$'
  local mode = call('HGET', raw, 'mode')
  if not mode then
    if call('HLEN', raw) == 1 and string.find(call('HKEYS', raw)[1], owner) then return 'm' end
    return 'x'
  end
  if (mode ~= 'read' and mode ~= 'write') or call('HLEN', raw) == 1 then return 'x' end
  for _, field in ipairs(call('HKEYS', raw)) do
    if field ~= 'mode' and not string.find(string.gsub(field, ':write$', ''), owner) then return 'x' end
  end
  return 's'
end

-- Permits nobody has: the number that we set, all of it there.
local function idle()
  local limit = string.match(call('GET', mark) or '', '^p (%d+)$')
  return limit and limit == call('GET', raw) and not first_in_line()
end

-- What the name is used for: a kind, '?' a number of unknown purpose, 'i' permits nobody has, 'x' no lock, nil nothing.
local function present()
  local type = call('TYPE', raw).ok
  if type == 'hash' then return kind_of_hash() end
  if type == 'string' then
    if not only_look then reclaim() end
    if call('ZCOUNT', slots, '(' .. text(ms), '+inf') > 0 then return 'p' end
    if call('STRLEN', raw) > 20 or not string.find(call('GET', raw), '^%-?%d+$') then return 'x' end
    if idle() then return 'i' end
    local made = call('GET', mark) or '?'
    if string.sub(made, 1, 1) ~= 'p' then return made end
    local first = first_in_line()
    return first and first ~= true and first.kind == 'p' and 'p' or '?'
  end
  if type ~= 'none' then return 'x' end
  local first = first_in_line()
  return first and (first == true and 'm' or first.kind)
end

-- Lets in whoever is first in our line, as long as they fit. Who is dead is passed over.
-- The first token of `self`, if it was among them.
local function admit(self)
  local mine
  while true do
    local head = call('ZRANGE', line, 0, 0)[1]
    if not head then return mine end
    local stored = call('HGET', wait, head)
    local e = stored and parse(stored)
    if e and not fits(e.access, tonumber(e.permits)) then return mine end
    -- What a semaphore gives never ends by itself: it is for the taking, so that none goes to who is about to die.
    if e and kind == 'c' and head ~= self and waits(head, e) then
      publish(client_of(head), 'l ' .. head)
      return mine
    end
    call('ZREM', line, head)
    call('HDEL', wait, head)
    if e and head == self then
      mine = grant(head, e)
    elseif e and kind ~= 'c' and waits(head, e) then
      hand(head, grant(head, e), e.told)
    end
  end
end

-- What those in the fair queue have not moved up yet.
local function settle()
  local beside = call('GET', last)
  local owed = beside and tonumber(string.sub(beside, 36, 37)) or 0
  if owed == 0 then return end
  @move_up
  call('SETRANGE', last, 35, '00')
end
local function take_turn(who, e)
  call('LPOP', list)
  call('ZREM', due, who)
  call('HDEL', wait, who)
  local owed = 1
  @move_up
  return grant(who, e)
end
local function admit_fair(self)
  while call('EXISTS', raw) == 0 do
    purge()
    local head = call('LINDEX', list, 0)
    if not head then return end
    local stored = call('HGET', wait, head)
    local e = stored and parse(stored)
    if not e then
      announce(channel() .. ':' .. head, '0')
      return
    end
    if head == self then return take_turn(head, e) end
    if waits(head, e) then
      hand(head, take_turn(head, e), e.told)
    else
      give_up(head)
    end
  end
end

-- After something came free: ours in line get it; foreign clients get the message they wait for. (A leading zero tells
-- our own clients that our line was served already.)
local function pass_on(message, self)
  local mine
  if kind == 'm' and call('EXISTS', list) == 1 then
    settle()
    mine = admit_fair(self)
  end
  if call('EXISTS', line) == 1 then mine = admit(self) or mine end
  if kind == 'p' or kind == 'c' then
    local left = grown and call('GET', raw)
    if left and tonumber(left) > 0 then announce(channel(), '0' .. left) end
  elseif message and (kind == 'l' or call('EXISTS', raw) == 0 or (kind == 's' and call('HGET', raw, 'mode') == 'read')) then
    announce(channel(), message)
  end
  return mine
end
)lua";

}  // namespace holdfast::redis
