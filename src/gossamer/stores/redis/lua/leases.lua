-- The leases: who works on what, at most one for each URL; and what the budgets leave.

local leases = {}

local text = commands.text

-- Number, whether the host was shared (1) or not proven (2), the bytes reserved for it, worker and
-- host.
local LEASE = '>I6BI7I5I4'
local SHARED, UNPROVEN = 1, 2

-- Returns when a lease ends that is given or extended now.
function leases.deadline(ctx)
  return text(commands.micros(ctx.now + ctx.rules.lease_s))
end

-- Gives a lease, which is written when all are given (`leases.save`). Numbers grow with the time: a
-- server that has lost its last seconds gives none a second time.
function leases.grant(ctx, u, h, worker, allowed)
  local counts, name = ctx.counts, text(u.id)
  counts.lease = math.max(counts.lease + 1, math.floor(ctx.now * const.LEASES_PER_S))
  counts.in_progress = counts.in_progress + 1
  counts.reserved = counts.reserved + allowed
  local kind = h.shared and SHARED or hosts.is_proven(h) and 0 or UNPROVEN
  if kind == UNPROVEN then
    workers.count_unproven(ctx, worker, 1)
  end
  local packed = struct.pack(LEASE, counts.lease, kind, allowed, worker, h.hid)
  local granted = ctx.granted
  granted[#granted + 1], granted[#granted + 2] = name, packed
  return counts.lease
end

-- Writes the leases that were given.
function leases.save(ctx)
  local granted, ends, deadline = ctx.granted, {}, leases.deadline(ctx)
  for i = 1, #granted, 2 do
    ends[i], ends[i + 1] = deadline, granted[i]
  end
  commands.write(ctx, 'HSET', ctx.prefix .. K.leases, granted)
  commands.write(ctx, 'ZADD', ctx.prefix .. K.deadlines, ends)
end

local function read(packed)
  local number, kind, allowed, worker, hid = struct.unpack(LEASE, packed)
  return { number = number, kind = kind, worker = worker, hid = hid, allowed = allowed }
end

-- Returns the lease of a URL; nil if `number` is not its newest.
function leases.find(ctx, id, number)
  local packed = ctx.call('HGET', ctx.prefix .. K.leases, text(id))
  local lease = packed and read(packed)
  return lease and (not number or lease.number == number) and lease or nil
end

-- Ends a lease for which so much was received; the host rests until `next_start`.
function leases.finish(ctx, id, lease, h, next_start, received)
  local counts = ctx.counts
  ctx.call('HDEL', ctx.prefix .. K.leases, text(id))
  ctx.call('ZREM', ctx.prefix .. K.deadlines, text(id))
  counts.in_progress = counts.in_progress - 1
  counts.reserved = counts.reserved - lease.allowed
  counts.received = counts.received + math.min(received, lease.allowed)
  h.received = h.received + math.min(received, lease.allowed)
  workers.add_load(ctx, lease.worker, -1)
  if lease.kind == UNPROVEN then
    workers.count_unproven(ctx, lease.worker, -1)
  end
  if lease.kind == SHARED then
    workers.add_share(ctx, lease.worker, h, -1)
  else
    local d = domains.get(ctx, h.domain)
    d.busy = d.busy - 1
    d.kept_until = ctx.now + ctx.rules.domain_ttl_s
    domains.change(ctx, d)
  end
  scheduler.end_visit(ctx, h, next_start)
end

-- Returns the numbers of the hosts that are leased, and the workers that have leases, as sets.
function leases.holders(ctx)
  local hids, busy_workers = {}, {}
  for _, packed in ipairs(ctx.call('HVALS', ctx.prefix .. K.leases)) do
    local lease = read(packed)
    hids[lease.hid], busy_workers[lease.worker] = true, true
  end
  return hids, busy_workers
end

-- Calls a function with each URL in progress and its lease, in the order of the URLs.
function leases.each(ctx, visit)
  local all, ids, found = ctx.call('HGETALL', ctx.prefix .. K.leases), {}, {}
  for i = 1, #all, 2 do
    ids[#ids + 1] = tonumber(all[i])
    found[ids[#ids]] = read(all[i + 1])
  end
  table.sort(ids)
  for _, id in ipairs(ids) do
    visit(id, found[id])
  end
end

-- Returns which limit leaves no room for another page, beside those reserved; nil: none does.
function leases.exhausted_by(ctx, reserved_pages)
  local counts, rules = ctx.counts, ctx.rules
  if counts.visits + reserved_pages >= rules.max_pages then
    return 'max-pages'
  end
  return math.max(counts.received, counts.short_at) >= rules.max_bytes and 'max-bytes' or nil
end

-- Returns how many bytes the next task may receive; nil if the budgets have nothing for one now.
-- When less is left than a task may need, one at a time gets all of that.
function leases.allowed(ctx)
  local counts, rules = ctx.counts, ctx.rules
  local left = rules.max_bytes - counts.received - counts.reserved
  if leases.exhausted_by(ctx, counts.in_progress) then
    return nil
  elseif left < rules.max_task_bytes and counts.in_progress > 0 then
    return nil
  end
  return math.min(left, rules.max_task_bytes)
end

return leases
