-- Adds seeds, or sitemaps, and answers how many are new. One that is known is not visited again,
-- however long ago it was visited.

steps.repeatable('add_seeds', function(ctx, message, keys)
  local growth, path = links.growth(), { depth = message.depth, hops = 0, parent = 0 }
  links.add(ctx, growth, message, keys, path, -const.INF, true)
  links.grow(ctx, growth)
  return #growth.new
end)
