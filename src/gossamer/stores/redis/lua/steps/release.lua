-- Gives a task back undone; answers false if the lease was lost.

local COUNTERS = { 'in_progress', 'queued', 'assigned' }

steps.once('release', COUNTERS, function(ctx, message)
  local id, number, told = message[1], message[2], message[3]
  local lease = leases.find(ctx, id, number)
  if not lease then
    return false
  end
  local h = hosts.get(ctx, lease.hid)
  local next_start = told and feedback.take(ctx, h, told) or ctx.now + hosts.delay(ctx, h)
  leases.finish(ctx, id, lease, h, next_start)
  claims.release(ctx, urls.get(ctx, id), h)
  return true
end)
