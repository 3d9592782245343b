-- The dismissal of workers that are dead: what they had is for others.

local dismissal = {}

-- Ends a URL that has crashed several workers: it is not tried again.
local function give_up(ctx, u)
  claims.drop(ctx, u.id)
  local growth = links.growth()
  paths.follow_whole(ctx, u, growth)
  local attempt = { ctx.now, const.GAVE_UP, '', const.POISON_WORDS, false }
  urls.add_attempt(ctx, u, attempt)
  urls.finish(ctx, u, attempt, 0, u.duplicate_of, false)
  urls.keep_targets(ctx, u, {})
  links.grow(ctx, growth)
end

-- Takes a lease back of which nobody knows when its last request has ended: the URL waits again,
-- and the host rests. If the worker has died of it, the URL may be given up instead.
function dismissal.take_back(ctx, id, lease, has_died, received)
  local h, u = hosts.get(ctx, lease.hid), urls.get(ctx, id)
  leases.finish(ctx, id, lease, h, ctx.now + hosts.delay(ctx, h), received)
  if has_died then
    u.deaths = u.deaths + 1
    urls.change(ctx, u)
  end
  if has_died and u.deaths >= const.MAX_DEATHS then
    give_up(ctx, u)
  else
    claims.release(ctx, u, h)
  end
end

-- Takes back what is assigned to a worker, and forgets it; returns from how many hosts.
function dismissal.forget(ctx, worker)
  local found = scheduler.recall_all(ctx, worker)
  workers.forget(ctx, worker)
  agenda.forget(ctx, worker)
  rings.call_all_back(ctx, commands.text(worker))
  return found
end

return dismissal
