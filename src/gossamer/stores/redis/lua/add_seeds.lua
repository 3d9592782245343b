-- needs: base urls hosts rings agenda scheduler links
-- Adds seeds; one that is known is not visited again, however long ago it was.
local before = C.unscored
local growth = add_links(A, ARGV[4], { depth = 0, hops = 0, parent = 0 }, -INF, true)
local new = C.unscored - before
for page, u in pairs(growth.nearer) do
  call('HSET', P .. K.depth_changes, page, u.id)
end
overtake(growth)
return done(new)
