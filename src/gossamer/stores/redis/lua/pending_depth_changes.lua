-- needs: base urls
-- Returns the pages of which the modules know a larger depth, with their depth.
local out, all = {}, call('HGETALL', P .. K.depth_changes)
for i = 1, #all, 2 do
  out[#out + 1] = { tonumber(all[i]), url(tonumber(all[i + 1])).depth }
end
table.sort(out, function(one, other)
  return one[1] < other[1]
end)
return done(out)
