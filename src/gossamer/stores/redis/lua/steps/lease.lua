-- Hands out URLs of hosts whose moment has come, within the budgets.

local COUNTERS = {
  'unscored', 'assigned', 'common', 'in_progress', 'pages', 'bytes', 'lease', 'closed',
}

local function lease_one(ctx, h, worker)
  local u = scheduler.take_first(ctx, h)
  if h.shared then
    workers.add_share(ctx, worker, h, 1)
  else
    local d = domains.get(ctx, h.domain)
    d.busy = d.busy + 1
  end
  h.in_progress = h.in_progress + 1
  h.taskless_last = false
  agenda.announce(ctx, h)
  rings.offer(ctx, h)
  local number = leases.grant(ctx, u, h, worker)
  -- it has failed so often that it is not asked any more
  local is_hopeless = h.unanswered >= const.HOPELESS_AFTER
    or h.failures >= const.HOPELESS_AFTER_REFUSALS
  return { u.id, number, u.url, h.name, u.depth, u.attempts + 1, u.hops, is_hopeless, u.deaths }
end

steps.once('lease', COUNTERS, function(ctx, message)
  local worker, limit = message[1], message[2]
  workers.join(ctx, worker)
  if ctx.rules.strict and ctx.counts.unscored > 0 then -- a better one may be among those
    return { {}, ctx.now + const.ASK_AGAIN_S - ctx.offset }
  end
  local tasks, h = {}, agenda.first_host(ctx, worker)
  while h and #tasks < limit and not leases.exhausted_by(ctx, ctx.counts.in_progress) do
    tasks[#tasks + 1] = lease_one(ctx, h, worker)
    h = agenda.first_host(ctx, worker)
  end
  local wake = h and ctx.now or agenda.next_moment(ctx, worker)
  return { tasks, wake and wake - ctx.offset or false }
end)
