-- What every step begins and ends with: whose crawl, by which rules, at what moment; the counters;
-- and the answer, kept for a while in case that the caller did not get it and asks again.

local call = redis.call

-- The functions of the common files: whoever puts the script together writes them so.
local F = {}

local P, R, A = KEYS[1], cmsgpack.unpack(ARGV[1]), cmsgpack.unpack(ARGV[3])

-- When by the caller's clock, who calls, the number of the call, whether it was sent before, and
-- which server he has found here (0: it did not say).
local asked = cmsgpack.unpack(ARGV[2])

-- Returns a whole number as text. Left to itself Redis writes every number as one with a fraction,
-- which takes it longer than what it is then asked to do.
local function text(number)
  return string.format('%d', number)
end

if asked[4] then
  local last = call('HGET', P .. K.answers .. asked[2], text(asked[3] % const.ANSWERS))
  if last and struct.unpack('>I6', last) == asked[3] then
    return string.sub(last, 7)
  end
end

-- The offset turns the caller's moments into the server's.
local now, offset = asked[1], 0

if not R.given then
  local time = call('TIME')
  now = time[1] + time[2] / 1e6
  offset = now - asked[1]
end

-- The counters that the step uses; how they were.
local COUNTED, C, counted = { COUNTERS }, {}, nil

counted = call('HMGET', P .. K.counts, unpack(COUNTED))
for i = 1, #COUNTED do
  local value = tonumber(counted[i]) or 0
  counted[i] = value
  C[COUNTED[i]] = value
end

-- Another server than the last time, started anew or promoted, may have forgotten whom it was told
-- to have asked a moment ago, and who is at it. So every host counts as asked until the last lease
-- of that time is over: no worker asks anything longer than that without being told that it may.
if asked[5] > 0 and asked[5] ~= C.server then
  if C.server > 0 then
    C.unsure = math.max(C.unsure, now + R.lease_s)
  end
  C.server = asked[5]
end

-- How the last process was seen, or has ended.
local AT_WORK, IN_ORDER = 2, 1

-- Commands with thousands of arguments are cut into portions: Lua's stack has its bounds.
local function in_portions(command, key, list)
  if #list == 0 then
    return
  elseif #list <= 2000 then
    call(command, key, unpack(list))
    return
  end
  for first = 1, #list, 2000 do
    call(command, key, unpack(list, first, math.min(first + 1999, #list)))
  end
end

local function get_many(key, fields)
  if #fields == 0 then
    return {}
  elseif #fields <= 2000 then
    return call('HMGET', key, unpack(fields))
  end
  local found = {}
  for first = 1, #fields, 2000 do
    local last = math.min(first + 1999, #fields)
    local part = call('HMGET', key, unpack(fields, first, last))
    for i = 1, last - first + 1 do
      found[first + i - 1] = part[i]
    end
  end
  return found
end

-- Each writes back what was changed of its own.
local savers = {}

local function save_all()
  for name in pairs(savers) do
    F[name]()
  end
  local changed = {}
  for i = 1, #COUNTED do
    local name = COUNTED[i]
    if C[name] ~= counted[i] then
      changed[#changed + 1] = name
      changed[#changed + 1] = C[name] % 1 == 0 and text(C[name]) or C[name]
    end
  end
  if #changed > 0 then
    call('HSET', P .. K.counts, unpack(changed))
  end
end

-- Ends a step that may not happen twice.
local function done_once(answer)
  save_all()
  local packed = cmsgpack.pack(answer)
  local answers, slot = P .. K.answers .. asked[2], text(asked[3] % const.ANSWERS)
  if call('HSET', answers, slot, struct.pack('>I6', asked[3]) .. packed) == 1 then
    call('EXPIRE', answers, const.ANSWERS_S)
  end
  return packed
end

local function done(answer)
  save_all()
  return cmsgpack.pack(answer)
end
