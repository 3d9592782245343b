-- Hands out URLs of hosts whose moment has come, within the budgets.

local function lease_one(ctx, h, worker, allowed, with_before)
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
  local number = leases.grant(ctx, u, h, worker, allowed)
  -- it has failed so often that it is not asked any more
  local is_hopeless = h.unanswered >= const.HOPELESS_AFTER
    or h.failures >= const.HOPELESS_AFTER_REFUSALS
  local listing = urls.listing(ctx, u)
  return {
    u.id, number, u.url, h.name, u.depth, u.attempts + 1, u.hops, is_hopeless, u.deaths, allowed,
    allowed < ctx.rules.max_task_bytes, hosts.delay(ctx, h), hosts.spent(ctx, h),
    listing and listing[3] or '',
    with_before and urls.before(ctx, u, u.hops + 1) or nil,
  }
end

steps.once('lease', function(ctx, message)
  local worker, limit = message[1], message[2]
  workers.join(ctx, worker)
  workers.note_slots(ctx, worker, limit)
  -- the URL queue is full, or in strict order a better one may be among those that are not ready
  local most = ctx.rules.strict and 1 or ctx.rules.url_queue
  if scheduler.must_wait_for_order(ctx) or ctx.counts.unscored >= most then
    return { {}, ctx.now + const.ASK_AGAIN_S - ctx.offset }
  end
  local tasks, h, allowed = {}, agenda.first_host(ctx, worker), leases.allowed(ctx)
  local shared = 0
  while h and #tasks < limit and allowed do
    shared = shared + (h.shared and 1 or 0)
    tasks[#tasks + 1] = lease_one(ctx, h, worker, allowed, message[3])
    h, allowed = agenda.first_host(ctx, worker), leases.allowed(ctx)
  end
  if shared > 0 then
    workers.add_load(ctx, worker, shared) -- they were in nobody's queue
  end
  leases.save(ctx)
  local wake = h and ctx.now or agenda.next_moment(ctx, worker)
  return { tasks, wake and wake - ctx.offset or false }
end)
