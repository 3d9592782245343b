-- When a worker may ask which of its hosts: each has one entry, by its moment. In strict order
-- those whose moment has come stand apart, by their best URL.

local function rank_of(h)
  return struct.pack('>I5I5', h.rank, h.hid)
end

local function agenda_of(h)
  return domain(h.domain).worker
end

local function cross_out(h)
  local worker = agenda_of(h)
  if worker then
    call('ZREM', P .. K.agenda .. text(worker), h.key)
    if h.rank > 0 then
      call('ZREM', P .. K.ready .. text(worker), rank_of(h))
      h.rank = 0
      touch(h)
    end
  end
end

-- Has the worker ask the host in time, if it has something to ask and may.
local function announce(h)
  if h.in_progress >= slots(h) then
    cross_out(h) -- it may have had more places when it was entered
  elseif h.assigned > 0 and h.rank == 0 then
    call('ZADD', P .. K.agenda .. text(agenda_of(h)), 'NX', free_at(h), h.key)
  end
end

local function rest_on(worker, h)
  call('ZADD', P .. K.agenda .. text(worker), free_at(h), h.key)
end

local function make_ready(worker, h)
  local best = call('ZRANGE', P .. K.assigned .. h.key, 0, 0, 'WITHSCORES')
  h.rank = id_of(best[1])
  touch(h)
  call('ZREM', P .. K.agenda .. text(worker), h.key)
  call('ZADD', P .. K.ready .. text(worker), best[2], rank_of(h))
end

local function first_resting(worker)
  while true do
    local first = call('ZRANGEBYSCORE', P .. K.agenda .. text(worker), '-inf', now, 'LIMIT', 0, 1)[1]
    if not first then
      return nil
    end
    local h = host(tonumber(first))
    if free_at(h) <= now then
      return h
    end
    rest_on(worker, h)
  end
end

-- Returns the host to ask now; it keeps its entry.
local function first_host(worker)
  local h = first_resting(worker)
  if not R.strict then
    return h
  end
  while h do
    make_ready(worker, h)
    h = first_resting(worker)
  end
  while true do
    local first = call('ZRANGE', P .. K.ready .. text(worker), 0, 0)[1]
    if not first then
      return nil
    end
    local _, hid = struct.unpack('>I5I5', first)
    h = host(hid)
    if free_at(h) <= now then
      return h
    end
    cross_out(h) -- it was asked for something else meanwhile
    rest_on(worker, h)
  end
end

local function next_moment(worker)
  local first = call('ZRANGE', P .. K.agenda .. text(worker), 0, 0, 'WITHSCORES')
  return first[2] and tonumber(first[2])
end
