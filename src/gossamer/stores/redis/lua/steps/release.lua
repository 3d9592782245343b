-- Gives a task back undone; answers false if the lease was lost.

steps.once('release', function(ctx, message)
  local id, number, told, received, short = unpack(message)
  local lease = leases.find(ctx, id, number)
  if not lease then
    return false
  end
  local h = hosts.get(ctx, lease.hid)
  local next_start = told and feedback.take(ctx, h, told) or ctx.now + hosts.delay(ctx, h)
  leases.finish(ctx, id, lease, h, next_start, received)
  if short then
    ctx.counts.short_at = ctx.rules.max_bytes -- the rest was too little for the task
  end
  claims.release(ctx, urls.get(ctx, id), h)
  return true
end)
