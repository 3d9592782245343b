-- Lays rules down, and queues everything again that was assigned or leased: whoever was at it is
-- gone. Unless they ended in order nobody knows when a host was last asked, and each gets one full
-- delay.

-- Deletes the rings of another number of queues; returns the hosts that were in them.
local function delete_rings(ctx, count)
  local in_rings = {}
  for queue = 0, count - 1 do
    local key = ctx.prefix .. K.ring .. queue
    for _, hid in ipairs(ctx.call('LRANGE', key, '0', '-1')) do
      in_rings[tonumber(hid)] = true
    end
    ctx.call('DEL', key)
  end
  return in_rings
end

local function end_leases(ctx)
  for _, name in ipairs(ctx.call('HKEYS', ctx.prefix .. K.leases)) do
    local id = tonumber(name)
    local lease = leases.find(ctx, id)
    local h = hosts.get(ctx, lease.hid)
    leases.finish(ctx, id, lease, h, h.next, 0)
    claims.release(ctx, urls.get(ctx, id), h)
  end
end

local function take_slots_back(ctx)
  local taken = ctx.call('HGETALL', ctx.prefix .. K.taken_slots)
  for i = 1, #taken, 2 do
    local h = hosts.get(ctx, tonumber(taken[i]))
    scheduler.end_visit(ctx, h, h.next, tonumber(taken[i + 1]))
  end
  ctx.call('DEL', ctx.prefix .. K.taken_slots, ctx.prefix .. K.slot_deadlines)
  ctx.counts.taken_slots = 0
end

local function forget_workers(ctx)
  for _, name in ipairs(ctx.call('ZRANGE', ctx.prefix .. K.seen, '0', '-1')) do
    dismissal.forget(ctx, tonumber(name))
  end
  dismissal.forget(ctx, const.ANYONE)
  rings.call_all_back(ctx, rings.ANY)
end

-- Counts the queues again. Every host that has queued URLs is at hand: it was in a ring, aside,
-- leased, or assigned.
local function count_queues(ctx)
  ctx.call('DEL', ctx.prefix .. K.queue_counts)
  ctx.queue_changes = {}
  for _, h in pairs(ctx.hosts) do
    for queue, count in pairs(h.stock) do
      counters.count_queue(ctx, queue, count)
    end
  end
end

steps.repeatable('take_over', function(ctx, message, rules)
  local counts, queues_before = ctx.counts, message[1]
  ctx.call('SET', ctx.prefix .. K.rules, rules)
  if counts.closed == const.AT_WORK then
    counts.unsure = math.max(counts.unsure, ctx.now)
  end
  local has_other_queues, in_rings = queues_before ~= ctx.rules.queues, {}
  if has_other_queues then
    in_rings = delete_rings(ctx, queues_before)
  end
  end_leases(ctx)
  take_slots_back(ctx)
  forget_workers(ctx)
  slices.abandon(ctx)
  repeat -- what still has to rest is set aside again when its turn comes
  until rings.end_rests(ctx, '+inf') == 0
  for hid in pairs(in_rings) do
    rings.offer(ctx, hosts.get(ctx, hid))
  end
  if has_other_queues then
    count_queues(ctx)
  end
  for _, key in ipairs({ K.seen, K.loads, K.queue_lengths, K.trying, K.domains }) do
    ctx.call('DEL', ctx.prefix .. key)
  end
  ctx.domains, ctx.changed_domains = {}, {}
  ctx.queue_lengths, ctx.queue_growth = {}, {}
  return true
end)
