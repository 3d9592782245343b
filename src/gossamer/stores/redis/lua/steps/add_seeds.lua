-- Adds seeds, and answers how many are new. One that is known is not visited again, however long
-- ago it was visited.

local SEED = { depth = 0, hops = 0, parent = 0 }

local COUNTERS = { 'unscored', 'line', 'urls', 'hosts', 'met', 'queued' }

steps.repeatable('add_seeds', COUNTERS, function(ctx, message, keys)
  local before = ctx.counts.unscored
  local growth = links.add(ctx, message, keys, SEED, -const.INF, true)
  local new = ctx.counts.unscored - before
  links.note_nearer(ctx, growth)
  links.overtake(ctx, growth)
  return new
end)
