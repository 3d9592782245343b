-- Gives back what dead workers have left, and forgets what has expired; answers how much there is
-- for the router to see.

-- Ends a URL that has crashed several workers: it is not tried again.
local function finish_poison(ctx, u)
  claims.drop(ctx, u.id)
  urls.add_attempt(ctx, u, { ctx.now, const.GAVE_UP, '', const.POISON_WORDS, false })
  urls.finish(ctx, u, const.GAVE_UP, 0, u.duplicate_of, false)
  urls.keep_targets(ctx, u, {})
end

local function reap_leases(ctx)
  local now, key = ctx.now, ctx.prefix .. K.deadlines
  local micros = commands.text(commands.micros(now))
  local overdue = ctx.call('ZRANGEBYSCORE', key, '-inf', micros, 'LIMIT', '0', '1000')
  for _, name in ipairs(overdue) do
    local id = tonumber(name)
    local hid, worker = leases.find(ctx, id)
    local h, u = hosts.get(ctx, hid), urls.get(ctx, id)
    leases.finish(ctx, id, h, now + hosts.delay(ctx, h))
    local seen = tonumber(ctx.call('ZSCORE', ctx.prefix .. K.seen, commands.text(worker)) or 0)
    if seen + ctx.rules.lease_s / 2 <= now then -- who lives is heard of more often
      u.deaths = u.deaths + 1
      urls.change(ctx, u)
    end
    if u.deaths >= const.POISON_DEATHS then
      finish_poison(ctx, u)
    else
      claims.release(ctx, u, h)
    end
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
      found = found + scheduler.recall_all(ctx, worker)
      workers.forget(ctx, worker)
      agenda.forget(ctx, worker)
      rings.call_all_back(ctx, name)
    end
  end
  return found
end

steps.repeatable('reap', {}, function(ctx)
  local found = reap_leases(ctx)
  reap_slots(ctx)
  found = found + reap_workers(ctx)
  if ctx.rules.given then -- else the server forgets by itself
    pages.expire(ctx)
  end
  return found + rings.end_rests(ctx, ctx.now + const.SOON_S)
end)
