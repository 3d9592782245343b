-- The agenda of a worker: when it may ask which of its hosts. Each host has one entry, by its
-- moment. In strict order those whose moment has come stand apart, by their best URL. Those that are
-- not proven are in sets of their own, as they may not have every slot of the worker. The shared
-- hosts are in the agenda of const.ANYONE.

local agenda = {}

local text, micros = commands.text, commands.micros

local RANK = '>I5I5'

-- So many shared hosts are considered with one command.
local SHARED_AT_ONCE = 32

local function rank_of(h)
  return struct.pack(RANK, h.rank, h.hid)
end

-- Returns when a host may be asked; all moments of an agenda are in microseconds.
local function moment_of(h)
  return micros(hosts.free_at(h))
end

-- Returns the worker that URLs of a host are assigned to; false if nobody serves it.
function agenda.worker_of(ctx, h)
  return h.shared and const.ANYONE or domains.get(ctx, h.domain).worker
end

-- Returns in which of two sets of a worker a host is, and which is the other one.
local function sets_of(ctx, worker, h, proven, unproven)
  local name = text(worker)
  proven, unproven = ctx.prefix .. proven .. name, ctx.prefix .. unproven .. name
  if worker == const.ANYONE or hosts.is_proven(h) then
    return proven, unproven
  end
  return unproven, proven
end

-- Enters a host for its moment. Shared hosts are in one set, proven or not.
local function enter(ctx, worker, h, ...)
  local set, other = sets_of(ctx, worker, h, K.agenda, K.unproven)
  if worker ~= const.ANYONE then
    ctx.call('ZREM', other, h.key)
  end
  ctx.call('ZADD', set, ...)
  ctx.empty[set] = nil
end

-- Takes a host out of the set in which it was entered: it may have answered since, or failed.
local function remove(ctx, worker, member, set, other)
  if ctx.call('ZREM', set, member) == 0 and worker ~= const.ANYONE then
    ctx.call('ZREM', other, member)
  end
end

function agenda.cross_out(ctx, h)
  local worker = agenda.worker_of(ctx, h)
  if worker then
    remove(ctx, worker, h.key, sets_of(ctx, worker, h, K.agenda, K.unproven))
    if h.rank > 0 then
      remove(ctx, worker, rank_of(h), sets_of(ctx, worker, h, K.ready, K.unproven_ready))
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
    enter(ctx, agenda.worker_of(ctx, h), h, 'NX', text(moment_of(h)), h.key)
  end
end

local function rest_on(ctx, worker, h)
  enter(ctx, worker, h, text(moment_of(h)), h.key)
end

local function make_ready(ctx, worker, h)
  local best = ctx.call('ZRANGE', ctx.prefix .. K.assigned .. h.key, '0', '0', 'WITHSCORES')
  h.rank = urls.id_of(best[1])
  hosts.change(ctx, h)
  remove(ctx, worker, h.key, sets_of(ctx, worker, h, K.agenda, K.unproven))
  ctx.call('ZADD', (sets_of(ctx, worker, h, K.ready, K.unproven_ready)), best[2], rank_of(h))
end

-- Returns the first host whose moment has come, of one of the two sets of a worker.
local function first_in(ctx, worker, set)
  local key, now = ctx.prefix .. set .. text(worker), micros(ctx.now)
  while not ctx.empty[key] do
    local first = ctx.call('ZRANGEBYSCORE', key, '-inf', text(now), 'LIMIT', '0', '1')[1]
    if not first then
      ctx.empty[key] = true
      return nil
    end
    local h = hosts.get(ctx, tonumber(first))
    if moment_of(h) <= now then
      return h
    end
    rest_on(ctx, worker, h)
  end
end

-- Lets all hosts whose moment has come stand by their best URL.
local function end_rests(ctx, worker, set)
  local h = first_in(ctx, worker, set)
  while h do
    make_ready(ctx, worker, h)
    h = first_in(ctx, worker, set)
  end
end

-- Returns the host with the best URL, of one of the two sets of a worker, and the score of that.
local function first_ready_in(ctx, worker, set)
  local key = ctx.prefix .. set .. text(worker)
  while true do
    local first = ctx.call('ZRANGE', key, '0', '0', 'WITHSCORES')
    if not first[1] then
      return nil
    end
    local _, hid = struct.unpack(RANK, first[1])
    local h = hosts.get(ctx, hid)
    if moment_of(h) <= micros(ctx.now) then
      return h, tonumber(first[2])
    end
    agenda.cross_out(ctx, h) -- it was asked for something else meanwhile
    rest_on(ctx, worker, h)
  end
end

-- Returns some shared hosts whose moment has come, after so many others: their keys, and in strict
-- order the scores of their best URLs.
local function some_shared(ctx, after)
  local name = text(const.ANYONE)
  if not ctx.rules.strict then
    local key, now = ctx.prefix .. K.agenda .. name, text(micros(ctx.now))
    return ctx.call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', text(after), SHARED_AT_ONCE), {}
  end
  local keys, scores, last = {}, {}, text(after + SHARED_AT_ONCE - 1)
  local found = ctx.call('ZRANGE', ctx.prefix .. K.ready .. name, text(after), last, 'WITHSCORES')
  for i = 1, #found, 2 do
    local _, hid = struct.unpack(RANK, found[i])
    keys[#keys + 1] = text(hid)
    scores[#keys] = tonumber(found[i + 1])
  end
  return keys, scores
end

-- Returns the first shared host that a worker may ask now, and in strict order the score of its
-- best URL. Those of which it has its share are skipped: no more than it has leases.
local function first_shared(ctx, worker)
  if ctx.rules.strict then
    end_rests(ctx, const.ANYONE, K.agenda)
  end
  local after = 0
  while true do
    local keys, scores = some_shared(ctx, after)
    if #keys == 0 then
      return nil
    end
    local taken = commands.get_many(ctx, ctx.prefix .. K.shares .. text(worker), keys)
    after = after + #keys
    for i = 1, #keys do
      local h = hosts.get(ctx, tonumber(keys[i]))
      if tonumber(taken[i] or 0) < workers.share(ctx, h) then
        if moment_of(h) <= micros(ctx.now) then
          return h, scores[i]
        end
        agenda.cross_out(ctx, h) -- it was asked for something else meanwhile
        rest_on(ctx, const.ANYONE, h)
        after = after - 1
      end
    end
  end
end

-- Tells whether one of two hosts comes first: it has waited longer, or has the better URL.
local function goes_first(ctx, one, its_score, other, others_score)
  if not ctx.rules.strict then
    return moment_of(one) <= moment_of(other)
  elseif its_score ~= others_score then
    return its_score < others_score
  end
  return one.rank < other.rank
end

-- Returns the first of two hosts, of which either may be missing, and its score.
local function first_of(ctx, one, its_score, other, others_score)
  if not one or (other and goes_first(ctx, other, others_score, one, its_score)) then
    return other, others_score
  end
  return one, its_score
end

-- Returns the first of the hosts of its own that a worker may ask now, and in strict order the score
-- of its best URL.
local function first_own(ctx, worker)
  local first, proven, unproven = first_in, K.agenda, K.unproven
  if ctx.rules.strict then
    end_rests(ctx, worker, K.agenda)
    end_rests(ctx, worker, K.unproven)
    first, proven, unproven = first_ready_in, K.ready, K.unproven_ready
  end
  local one, its_score = first(ctx, worker, proven)
  if not workers.may_try(ctx) then
    return one, its_score
  end
  return first_of(ctx, one, its_score, first(ctx, worker, unproven))
end

-- Returns the host that a worker is to ask now, its own or a shared one; it keeps its entry.
function agenda.first_host(ctx, worker)
  local own, its_score = first_own(ctx, worker)
  if ctx.counts.common == 0 then
    return own
  end
  return (first_of(ctx, own, its_score, first_shared(ctx, worker)))
end

-- Returns when the next host of a worker may be asked, if none may be now; nil if it has none. What
-- others have of shared hosts they may give back at any time.
function agenda.next_moment(ctx, worker)
  local moment = const.INF
  for _, set in ipairs(workers.may_try(ctx) and { K.agenda, K.unproven } or { K.agenda }) do
    local first = ctx.call('ZRANGE', ctx.prefix .. set .. text(worker), '0', '0', 'WITHSCORES')
    moment = math.min(moment, first[2] and tonumber(first[2]) / 1e6 or const.INF)
  end
  if ctx.counts.common > 0 then
    local key, now = ctx.prefix .. K.agenda .. text(const.ANYONE), text(micros(ctx.now))
    local due = ctx.call('ZRANGEBYSCORE', key, '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', '0', '1')
    moment = math.min(moment, ctx.now + const.ASK_AGAIN_S, tonumber(due[2] or const.INF) / 1e6)
  end
  return moment < const.INF and moment or nil
end

-- Forgets the agenda of a worker that is gone.
function agenda.forget(ctx, worker)
  local name = text(worker)
  for _, set in ipairs({ K.agenda, K.unproven, K.ready, K.unproven_ready }) do
    ctx.call('DEL', ctx.prefix .. set .. name)
  end
end

return agenda
