-- The records of URLs: one packed string each, read when first needed, written at the end.

local INF = math.huge

local SCORED, REDIRECT = 1, 2

-- Version, place, hops, depth and end of a URL; and its whole record, but for the text.
local HEAD, RECORD = '>BBBI4d', '>BBBI4dI4I5HBBdI5I5dI3'

local RECORD_SIZE = struct.size(RECORD)

local urls, changed_urls = {}, {}

local function read_url(id, packed)
  if not packed then
    error('there is no URL ' .. id)
  end
  local u, version, length = { id = id }, nil, nil
  version, u.state, u.hops, u.depth, u.finished, u.hid, u.parent, u.attempts, u.deaths, u.flags,
    u.score, u.page, u.duplicate_of, u.found, length = struct.unpack(RECORD, packed)
  u.url = string.sub(packed, RECORD_SIZE + 1, RECORD_SIZE + length)
  u.tail = string.sub(packed, RECORD_SIZE + length + 1)
  urls[id] = u
  return u
end

-- Tells whether a record is one of ours.
local function is_sound(packed)
  if not packed or #packed <= RECORD_SIZE or string.byte(packed) ~= const.VERSION then
    return false
  end
  local length = struct.unpack('>I3', packed, RECORD_SIZE - 2)
  return string.byte(packed, 2) <= const.TOO_DEEP and #packed >= RECORD_SIZE + length
end

-- Puts a record aside that nobody can read, instead of stumbling over it for ever.
local function quarantine(id, packed)
  call('RPUSH', P .. K.quarantine, cmsgpack.pack({ K.urls, id, packed or '' }))
  call('ZREM', P .. K.url_queue, id)
  call('HDEL', P .. K.urls, id)
  C.unscored = C.unscored - 1
  C.broken = C.broken + 1
end

local function url(id)
  return urls[id] or read_url(id, call('HGET', P .. K.urls, text(id)))
end

-- Reads several at once, which are then at hand.
local function fetch_urls(ids)
  local names = {}
  for i = 1, #ids do
    names[i] = text(ids[i])
  end
  local found = get_many(P .. K.urls, names)
  for i = 1, #ids do
    if not urls[ids[i]] then
      read_url(ids[i], found[i])
    end
  end
end

-- Tells whoever copies the crawl at the moment which URLs he must look at once more.
local function tell_watchers(written)
  if #written == 0 or call('EXISTS', P .. K.watched) == 0 then
    return
  end
  local step, out = call('INCR', P .. K.watched), {}
  for i = 1, #written, 2 do
    out[i], out[i + 1] = step, written[i]
  end
  in_portions('ZADD', P .. K.changed, out)
  call('EXPIRE', P .. K.changed, 3600)
end

local function save_urls()
  local out = {}
  for id, u in pairs(changed_urls) do
    out[#out + 1] = text(id)
    out[#out + 1] = struct.pack(
      RECORD, const.VERSION, u.state, math.min(u.hops, 255), u.depth, u.finished, u.hid, u.parent,
      u.attempts, u.deaths, u.flags, u.score, u.page, u.duplicate_of, u.found, #u.url
    ) .. u.url .. u.tail
  end
  in_portions('HSET', P .. K.urls, out)
  tell_watchers(out)
end

local function change(u)
  savers.save_urls = true
  changed_urls[u.id] = u
end

local function new_url(u)
  C.urls = C.urls + 1
  u.id, u.finished, u.attempts, u.deaths, u.flags = C.urls, INF, 0, 0, 0
  u.score, u.page, u.duplicate_of, u.found, u.tail = 0, 0, 0, now, ''
  urls[u.id] = u
  change(u)
  return u
end

local function has(u, flag)
  return u.flags % (2 * flag) >= flag
end

local function set(u, flag, wanted)
  if has(u, flag) ~= wanted then
    u.flags = u.flags + (wanted and flag or -flag)
  end
end

-- In the queues and queues a URL is named so that equal scores go in the order of discovery.
local function name_of(id)
  return struct.pack('>I5', id)
end

local function id_of(name)
  return (struct.unpack('>I5', name))
end

local function stand_in_line(u)
  u.state = const.UNSCORED
  set(u, SCORED, false)
  C.unscored = C.unscored + 1
  C.line = C.line + 1
  call('ZADD', P .. K.url_queue, text(C.line), text(u.id))
  change(u)
end

local function add_attempt(u, attempt)
  u.attempts = u.attempts + 1
  u.tail = u.tail .. cmsgpack.pack(attempt)
  change(u)
end

local function last_outcome(u)
  local all = { cmsgpack.unpack(u.tail) }
  return all[#all][2]
end

-- Lets a finished URL be visited again.
local function reopen(u)
  call('HINCRBY', P .. K.outcomes, last_outcome(u), -1)
  u.duplicate_of, u.finished = 0, INF
  stand_in_line(u)
end

local function targets_of(u)
  local packed = call('HGET', P .. K.targets, text(u.id))
  if not packed then
    return {}
  end
  local ids, last = cmsgpack.unpack(packed), 0
  for i, step in ipairs(ids) do
    last = last + step
    ids[i] = last
  end
  return ids
end

local function keep_targets(u, ids)
  if #ids == 0 then
    call('HDEL', P .. K.targets, text(u.id))
    return
  end
  local steps, last = {}, 0
  for i, id in ipairs(ids) do
    steps[i] = id - last
    last = id
  end
  call('HSET', P .. K.targets, text(u.id), cmsgpack.pack(steps))
end
