#include "script_text.hpp"

namespace holdfast::redis {

const std::string_view lua_plain_head = R"lua(
local raw, held, wait, line, token, turn = unpack(KEYS)
local flags, owner = ARGV[1], ARGV[2]
local call = redis.call
local kind, counter, ways = string.match(flags, '^(.)(.)(.)')
local last  -- there is no such key
)lua";

const std::string_view lua_plain_prelude = R"lua(
-- Who has it, as everybody sees it; nil: nobody, or what is there is no string.
local function holder()
  local value = redis.pcall('GET', raw)
  return type(value) == 'string' and value or nil
end
local function holding(owner) return holder() == owner and call('PTTL', raw) or nil end

-- What locks of the known libraries look like: random bytes in hex or base64, a UUID, an owner of ours.
local function lock_like(value) return #value >= 16 and #value <= 64 and string.find(value, '^[%w+/=_:-]+$') end

local function grant(owner, e)
  draw(e.count)
  call('SET', raw, owner, 'PX', e.ttl)
  call('HSET', held, owner, compose(e, first))
  keep(held, e.ttl + 60000)
  return first
end

-- Lets in whoever is first in our line, passing over the dead. The token of `self`, if that is who.
local function pass_on(self)
  while call('EXISTS', raw) == 0 do
    local head = call('ZRANGE', line, 0, 0)[1]
    if not head then return end
    local stored = call('HGET', wait, head)
    local e = stored and parse(stored)
    call('ZREM', line, head)
    call('HDEL', wait, head)
    if e and head == self then return grant(head, e) end
    if e and waits(head, e) then hand(head, grant(head, e), e.told) end
  end
end

-- How many milliseconds more it is left to others than us.
local function left_to_others()
  local till = tonumber(call('GET', turn))
  return till and till > ms and call('EXISTS', raw) == 0 and call('EXISTS', line) == 1 and till - ms
end
)lua";

// A lock that is free and that nobody waits for.
const std::string_view lua_plain_enter_free = R"lua(
if call('EXISTS', raw, held, wait) == 0 then
  -- Before the first write: without the right to tell of it nothing is written.
  call('PUBLISH', 'holdfast_event', raw)
  local ttl, n = string.match(flags, ' (%d+) (%d+)')
  @draw
  call('SET', raw, owner, 'PX', ttl)
  call('HSET', held, owner, first .. ' ' .. now .. ' ' .. flags)
  call('PEXPIRE', held, ttl + 60000)
  return {1, first, n, ttl, now}
end
)lua";

const std::string_view lua_plain_enter = R"lua(
local e = parse('0 0 ' .. flags)
local use = call('TYPE', raw).ok
if use ~= 'none' and use ~= 'string' then return {2, 'x'} end

local left = holding(owner)
if left then
  local stored = call('HGET', held, owner)
  local known = stored and parse(stored)
  if known then return {1, known.first, known.count, left, now} end
  -- The lock is ours but nothing is known of it: draw again, never the same token twice.
  draw(e.count)
  call('HSET', held, owner, compose(e, first))
  keep(held, left + 60000)
  return {1, first, e.count, left, now}
end
if use == 'none' then call('DEL', held) end

local stored = call('HGET', wait, owner)
local queued = stored and parse(stored)
if queued then call('HSET', wait, owner, compose(e, now, queued.since)) end
local gap = left_to_others()
if not gap then
  local mine = pass_on(owner)
  if not mine and call('EXISTS', raw) == 0 then mine = grant(owner, e) end
  if mine then
    changed()
    return {1, mine, e.count, e.ttl, now}
  end
end
local rank = string.sub(flags, 5, 5) == '1' and get_in_line(owner, e) or 0
local foreign = not gap and call('HEXISTS', held, holder() or '') == 0 and 1 or 0
return {0, gap or call('PTTL', raw), rank, foreign, now}
)lua";

// The end of a lock none of ours waits for.
const std::string_view lua_plain_leave_alone = R"lua(
local ended = redis.pcall('GET', raw) == owner
if ended then
  call('DEL', raw)
  call('HDEL', held, owner)
  redis.pcall('PUBLISH', 'holdfast_event', raw)
  if call('EXISTS', wait) == 0 then return 1 end
end
)lua";

const std::string_view lua_plain_leave = R"lua(
if ended then
  -- Others ask again and again and are not seen to wait: once a second it is left to them for a moment.
  local head = call('ZRANGE', line, 0, 0)[1]
  local start = tonumber(call('GET', turn))
  if not start then call('SET', turn, text(ms), 'PX', 5000) end
  if not head or not start or ms - start <= 1000 then
    pass_on()
    return 1
  end
  call('SET', turn, text(ms + 20), 'PX', 5000)
  publish(client_of(head), 'l ' .. head)
  return 1
end
if call('ZREM', line, owner) == 0 then return 0 end
call('HDEL', wait, owner)
if not left_to_others() then pass_on() end
-- Who is first now looks at what others than us have.
local head = call('ZRANGE', line, 0, 0)[1]
if head then publish(client_of(head), 'l ' .. head) end
changed()
return 1
)lua";

const std::string_view lua_plain_owns = R"lua(
local function owns(raw, owner) return redis.pcall('GET', raw) == owner end
)lua";

// A string that others set is shown if it looks like a lock, and has a ttl or one of ours waits for it.
const std::string_view lua_plain_describe = R"lua(
local holders, waiters = {}, {}
tell_queue(call('ZRANGE', line, 0, -1), waiters)
local owner = holder()
if owner then
  local left, entry = call('PTTL', raw), call('HGET', held, owner)
  if entry or #waiters > 0 or (left >= 0 and lock_like(owner)) then holders = {owner, entry or '', left, 'x'} end
end
return {'m', holders, waiters}
)lua";

const std::string_view lua_plain_evict = R"lua(
local owner = holder()
if not owner then return call('EXISTS', raw) == 1 and -1 or 0 end
local stored = call('HGET', held, owner)
local e = stored and parse(stored)
if not e and not lock_like(owner) then return -1 end
call('DEL', raw, held)
if e then publish(client_of(owner), 'e ' .. e.hex) end
pass_on()
changed()
return 1
)lua";

}  // namespace holdfast::redis
