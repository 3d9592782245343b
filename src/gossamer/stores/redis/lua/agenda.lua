-- The agenda of a worker: when it may ask which of its hosts. Each host has one entry, by its
-- moment. In strict order those whose moment has come stand apart, by their best URL.

local agenda = {}

local text, micros = commands.text, commands.micros

local RANK = '>I5I5'

local function rank_of(h)
  return struct.pack(RANK, h.rank, h.hid)
end

-- Returns when a host may be asked; all moments of an agenda are in microseconds.
local function moment_of(h)
  return micros(hosts.free_at(h))
end

-- Returns the worker that serves a host; false if nobody does.
function agenda.worker_of(ctx, h)
  return domains.get(ctx, h.domain).worker
end

function agenda.cross_out(ctx, h)
  local worker = agenda.worker_of(ctx, h)
  if worker then
    ctx.call('ZREM', ctx.prefix .. K.agenda .. text(worker), h.key)
    if h.rank > 0 then
      ctx.call('ZREM', ctx.prefix .. K.ready .. text(worker), rank_of(h))
      h.rank = 0
      hosts.change(ctx, h)
    end
  end
end

-- Has the worker ask the host in time, if it has something to ask and may.
function agenda.announce(ctx, h)
  if h.in_progress >= hosts.slots(ctx, h) then
    agenda.cross_out(ctx, h) -- it may have had more slots when it was entered
  elseif h.assigned > 0 and h.rank == 0 then
    local key = ctx.prefix .. K.agenda .. text(agenda.worker_of(ctx, h))
    ctx.call('ZADD', key, 'NX', text(moment_of(h)), h.key)
  end
end

local function rest_on(ctx, worker, h)
  ctx.call('ZADD', ctx.prefix .. K.agenda .. text(worker), text(moment_of(h)), h.key)
end

local function make_ready(ctx, worker, h)
  local best = ctx.call('ZRANGE', ctx.prefix .. K.assigned .. h.key, '0', '0', 'WITHSCORES')
  h.rank = urls.id_of(best[1])
  hosts.change(ctx, h)
  ctx.call('ZREM', ctx.prefix .. K.agenda .. text(worker), h.key)
  ctx.call('ZADD', ctx.prefix .. K.ready .. text(worker), best[2], rank_of(h))
end

local function first_rested(ctx, worker)
  local key, now = ctx.prefix .. K.agenda .. text(worker), micros(ctx.now)
  while true do
    local first = ctx.call('ZRANGEBYSCORE', key, '-inf', text(now), 'LIMIT', '0', '1')[1]
    if not first then
      return nil
    end
    local h = hosts.get(ctx, tonumber(first))
    if moment_of(h) <= now then
      return h
    end
    rest_on(ctx, worker, h)
  end
end

-- Returns the host to ask now; it keeps its entry.
function agenda.first_host(ctx, worker)
  local h = first_rested(ctx, worker)
  if not ctx.rules.strict then
    return h
  end
  while h do
    make_ready(ctx, worker, h)
    h = first_rested(ctx, worker)
  end
  while true do
    local first = ctx.call('ZRANGE', ctx.prefix .. K.ready .. text(worker), '0', '0')[1]
    if not first then
      return nil
    end
    local _, hid = struct.unpack(RANK, first)
    h = hosts.get(ctx, hid)
    if moment_of(h) <= micros(ctx.now) then
      return h
    end
    agenda.cross_out(ctx, h) -- it was asked for something else meanwhile
    rest_on(ctx, worker, h)
  end
end

-- Returns when the next host of a worker may be asked; nil if it has none.
function agenda.next_moment(ctx, worker)
  local key = ctx.prefix .. K.agenda .. text(worker)
  local first = ctx.call('ZRANGE', key, '0', '0', 'WITHSCORES')
  return first[2] and tonumber(first[2]) / 1e6
end

-- Forgets the agenda of a worker that is gone.
function agenda.forget(ctx, worker)
  local name = text(worker)
  ctx.call('DEL', ctx.prefix .. K.agenda .. name, ctx.prefix .. K.ready .. name)
end

return agenda
