-- Adds the next slice of the links of a page (lua/slices.lua); answers which, and what is new.

steps.once('add_slice', function(ctx, message)
  local growth = links.growth()
  local lease, place, path = slices.add_next(ctx, message[1], growth)
  if not lease then
    return { lease = 0 }
  end
  local nearer = links.grow(ctx, growth)
  local learnt, finished = links.learnt(ctx, growth, path)
  return {
    lease = lease, place = place, new = growth.new, nearer = nearer, learnt = learnt,
    finished = finished,
  }
end)
