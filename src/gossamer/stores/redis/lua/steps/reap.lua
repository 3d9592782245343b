-- Gives back what dead workers have left; answers how much there is for the router to see.

local function reap_leases(ctx)
  local now, key = ctx.now, ctx.prefix .. K.deadlines
  local micros = commands.text(commands.micros(now))
  local overdue = ctx.call('ZRANGEBYSCORE', key, '-inf', micros, 'LIMIT', '0', '1000')
  for _, name in ipairs(overdue) do
    local id = tonumber(name)
    local lease = leases.find(ctx, id)
    local name_of_worker = commands.text(lease.worker)
    local seen = tonumber(ctx.call('ZSCORE', ctx.prefix .. K.seen, name_of_worker) or 0)
    -- who lives is heard of more often
    dismissal.take_back(ctx, id, lease, seen + ctx.rules.lease_s / 2 <= now, 0)
  end
  return #overdue
end

local function reap_slots(ctx)
  local overdue = ctx.call('ZRANGEBYSCORE', ctx.prefix .. K.slot_deadlines, '-inf', ctx.now)
  for _, hid in ipairs(overdue) do
    local h = hosts.get(ctx, tonumber(hid))
    local taken = tonumber(ctx.call('HGET', ctx.prefix .. K.taken_slots, hid))
    ctx.call('HDEL', ctx.prefix .. K.taken_slots, hid)
    ctx.call('ZREM', ctx.prefix .. K.slot_deadlines, hid)
    ctx.counts.taken_slots = ctx.counts.taken_slots - taken
    scheduler.end_visit(ctx, h, ctx.now + hosts.delay(ctx, h), taken)
  end
end

local function reap_workers(ctx)
  local silent_since = ctx.now - ctx.rules.lease_s
  local silent = ctx.call('ZRANGEBYSCORE', ctx.prefix .. K.seen, '-inf', silent_since)
  if #silent == 0 then
    return 0
  end
  local found, _, busy = 0, leases.holders(ctx)
  for _, name in ipairs(silent) do
    local worker = tonumber(name)
    -- one that has a lease stays until it is given back: its hosts must not change hands
    if not busy[worker] then
      found = found + dismissal.forget(ctx, worker)
    end
  end
  return found
end

steps.repeatable('reap', function(ctx)
  local found = reap_leases(ctx)
  reap_slots(ctx)
  found = found + reap_workers(ctx) + (slices.overdue(ctx) and 1 or 0)
  return found + rings.end_rests(ctx, ctx.now + const.SOON_S)
end)
