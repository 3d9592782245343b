-- The leases: who works on what, at most one for each URL; and what the budgets leave.

local leases = {}

local text = commands.text

-- Number, whether the host was shared (1) or not (0), worker and host.
local LEASE = '>I6BI5I4'

-- Returns when a lease ends that is given or extended now.
function leases.deadline(ctx)
  return text(commands.micros(ctx.now + ctx.rules.lease_s))
end

-- Gives a lease. Numbers grow with the time: a server that has lost its last seconds gives none a
-- second time.
function leases.grant(ctx, u, h, worker)
  local counts, name = ctx.counts, text(u.id)
  counts.lease = math.max(counts.lease + 1, math.floor(ctx.now * const.LEASES_PER_S))
  counts.in_progress = counts.in_progress + 1
  local packed = struct.pack(LEASE, counts.lease, h.shared and 1 or 0, worker, h.hid)
  ctx.call('HSET', ctx.prefix .. K.leases, name, packed)
  ctx.call('ZADD', ctx.prefix .. K.deadlines, leases.deadline(ctx), name)
  return counts.lease
end

local function read(packed)
  local number, shared, worker, hid = struct.unpack(LEASE, packed)
  return { number = number, shared = shared == 1, worker = worker, hid = hid }
end

-- Returns the lease of a URL; nil if `number` is not its newest.
function leases.find(ctx, id, number)
  local packed = ctx.call('HGET', ctx.prefix .. K.leases, text(id))
  local lease = packed and read(packed)
  return lease and (not number or lease.number == number) and lease or nil
end

-- Ends a lease; the host rests until `next_start`.
function leases.finish(ctx, id, lease, h, next_start)
  ctx.call('HDEL', ctx.prefix .. K.leases, text(id))
  ctx.call('ZREM', ctx.prefix .. K.deadlines, text(id))
  ctx.counts.in_progress = ctx.counts.in_progress - 1
  if lease.shared then
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

-- Returns which limit leaves no room for another page, beside what is reserved; nil: none does.
function leases.exhausted_by(ctx, reserved)
  local counts, rules = ctx.counts, ctx.rules
  if counts.pages + reserved >= rules.max_pages then
    return 'max-pages'
  end
  local largest = math.min(rules.max_page_bytes, rules.max_bytes)
  local used = counts.bytes + reserved * largest
  if used >= rules.max_bytes or used + largest > rules.max_bytes then
    return 'max-bytes'
  end
  return nil
end

return leases
