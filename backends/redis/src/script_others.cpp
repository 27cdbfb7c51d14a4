#include "script_text.hpp"

namespace holdfast::redis {

// 2 hex id of the request, 3 op, 4 amount, 5 how long to remember the answer in ms. {1 or 0 done, value}; {2, kind}: in
// use as that; {4}: does not fit in 64 bits.
const std::string_view lua_count = R"lua(
local hex, op, amount = ARGV[2], ARGV[3], ARGV[4]
if op ~= 'get' then
  local before = call('GET', done(hex))
  if before then
    local was, value = string.match(before, '^r(%d) (.*)$')
    if was then return {tonumber(was), value} end
  end
end
local use = present()
if use == 'i' then
  if op ~= 'get' then call('DEL', raw, mark) end
  use = nil
end
if use and use ~= kind and not (use == '?' and kind ~= 'p') then return {2, use} end

local value = call('TYPE', raw).ok == 'string' and call('GET', raw) or nil
if op == 'get' then return {1, value or '0'} end
local did, message = 1, nil
if op == 'set' then
  did = (not value or (kind == 'l' and tonumber(value) <= 0)) and 1 or 0
  if did == 1 and not (kind == 'l' and amount == '0') then
    call('SET', raw, amount)
    value = amount
    message = '1'
  end
elseif op == 'add' then
  if type(redis.pcall('INCRBY', raw, amount)) == 'table' then return {4} end
elseif op == 'sub' and value then
  if type(redis.pcall('DECRBY', raw, amount)) == 'table' then call('SET', raw, 0) end
  if tonumber(call('GET', raw)) <= 0 then
    call('DEL', raw, mark)
    message = '0'
  end
elseif op == 'drain' and value then
  if tonumber(value) > 0 then call('SET', raw, 0) else value = '0' end
end
local after = op == 'drain' and (value or '0') or call('GET', raw) or '0'
call('SET', done(hex), 'r' .. did .. ' ' .. after, 'PX', ARGV[5])
-- Whoever else takes the number away leaves the mark: it ends by itself, a day after its last use.
if call('EXISTS', raw) == 1 then call('SET', mark, kind, 'PX', 86400000) end
grown = op == 'set' or op == 'add'
pass_on(message)
return {did, after}
)lua";

// Keys: the cell, where this request's answer is remembered. 1 version expected, 2 value, 3 hex id of the request, 4
// how long to remember in ms. 1: written, 0: another version.
const std::string_view lua_exchange_cell = R"lua(
local now = redis.call('HMGET', KEYS[1], 'version', 'writer')
-- Sent again: written by us, though somebody else may have written since.
if now[2] == ARGV[3] or redis.call('EXISTS', KEYS[2]) == 1 then return 1 end
if (now[1] or '0') ~= ARGV[1] then return 0 end
local clock = redis.call('TIME')
-- As tokens: a cell that was lost with the server's data does not come back with a version somebody remembers.
local version = math.max(clock[1] * 1000000 + clock[2], (tonumber(now[1]) or 0) + 1)
redis.call('HSET', KEYS[1], 'version', string.format('%.0f', version), 'value', ARGV[2], 'writer', ARGV[3])
redis.call('SET', KEYS[2], 1, 'PX', ARGV[4])
return 1
)lua";

// Keys: the fence. 1 token; 0 only asks. The newest, as text: numbers here end at 2^53.
const std::string_view lua_admit = R"lua(
local newest, token = redis.call('GET', KEYS[1]) or '0', ARGV[1]
if #token > #newest or (#token == #newest and token > newest) then
  redis.call('SET', KEYS[1], token)
  return token
end
return newest
)lua";

// {kind, {owner, entry, ms left, access, ...}, {owner, entry, ...}}; nil: no lock. Changes nothing.
const std::string_view lua_describe = R"lua(
only_look = true
kind = present()
if not kind or kind == 'x' then return nil end
local holders, waiters = {}, {}
local function add(owner, left, access)
  for _, part in ipairs({owner, entry(owner) or '', left, access}) do holders[#holders + 1] = part end
end
if kind == 'm' then
  if call('EXISTS', raw) == 1 then
    add(call('HKEYS', raw)[1], call('PTTL', raw), 'x')
  end
elseif kind == 's' then
  if call('EXISTS', raw) == 1 and live() > 0 then
    for _, field in ipairs(call('HKEYS', raw)) do
      local owner = string.gsub(field, ':write$', '')
      if owner ~= field then
        add(owner, call('PTTL', raw), 'x')
      elseif field ~= 'mode' then
        local left = call('PTTL', reader(owner) .. '1')
        if left >= 0 then add(owner, left, 's') end
      end
    end
  end
elseif kind == 'p' then
  for _, owner in ipairs(call('HKEYS', held)) do
    local e = parse(call('HGET', held, owner))
    local score = e and tonumber(call('ZSCORE', slots, slot_ids(e.hex, 1)[1]))
    if score and score > ms then add(owner, score - ms, 'x') end
  end
end
tell_queue(call('LRANGE', list, 0, -1), waiters)
tell_queue(call('ZRANGE', line, 0, -1), waiters)
return {kind, holders, waiters}
)lua";

// 1: it was taken from somebody, 0: nobody had it, -1: it is no lock.
const std::string_view lua_evict = R"lua(
kind = present()
if kind == 'x' then return -1 end
local owners = {}
if kind == 'm' or kind == 's' then
  for _, field in ipairs(call('HKEYS', raw)) do
    local owner = string.gsub(field, ':write$', '')
    if field ~= 'mode' then owners[#owners + 1] = owner end
    if owner == field and kind == 's' and field ~= 'mode' then
      for i = tonumber(call('HGET', raw, field)) or 0, 1, -1 do call('DEL', reader(owner) .. i) end
    end
  end
  call('DEL', raw)
elseif kind == 'p' then
  owners = call('HKEYS', held)
  local n = call('ZCARD', slots)
  if n > 0 then
    call('DEL', slots)
    call('INCRBY', raw, n)
    grown = true
    if #owners == 0 then owners[1] = '' end
  end
end
if #owners == 0 then return 0 end
for _, owner in ipairs(owners) do
  local stored = entry(owner)
  local e = stored and parse(stored)
  if e then publish(client_of(owner), 'e ' .. e.hex) end
end
call('DEL', held)
pass_on(kind == 's' and '1' or '0')
changed()
return 1
)lua";

}  // namespace holdfast::redis
