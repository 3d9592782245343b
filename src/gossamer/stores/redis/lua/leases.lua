-- The leases: who works on what, at most one for each URL; and what the budgets leave.

local leases = {}

local text = commands.text

-- Number, worker and host.
local LEASE = '>I6I6I4'

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
  ctx.call('HSET', ctx.prefix .. K.leases, name, struct.pack(LEASE, counts.lease, worker, h.hid))
  ctx.call('ZADD', ctx.prefix .. K.deadlines, leases.deadline(ctx), name)
  return counts.lease
end

-- Returns the host's number and the worker of a URL's lease; nothing if `number` is not its newest.
function leases.find(ctx, id, number)
  local packed = ctx.call('HGET', ctx.prefix .. K.leases, text(id))
  if packed then
    local newest, worker, hid = struct.unpack(LEASE, packed)
    if not number or newest == number then
      return hid, worker
    end
  end
end

-- Ends a lease; the host rests until `next_start`.
function leases.finish(ctx, id, h, next_start)
  ctx.call('HDEL', ctx.prefix .. K.leases, text(id))
  ctx.call('ZREM', ctx.prefix .. K.deadlines, text(id))
  ctx.counts.in_progress = ctx.counts.in_progress - 1
  local d = domains.get(ctx, h.domain)
  d.busy = d.busy - 1
  d.kept_until = ctx.now + ctx.rules.domain_ttl_s
  domains.change(ctx, d)
  scheduler.end_visit(ctx, h, next_start)
end

-- Returns the numbers of the hosts that are leased, and the workers that have leases, as sets.
function leases.holders(ctx)
  local hids, busy_workers = {}, {}
  for _, packed in ipairs(ctx.call('HVALS', ctx.prefix .. K.leases)) do
    local _, worker, hid = struct.unpack(LEASE, packed)
    hids[hid], busy_workers[worker] = true, true
  end
  return hids, busy_workers
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
