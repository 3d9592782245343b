-- needs: base urls hosts rings agenda scheduler leases
-- Extends leases; returns those, by their place in the list, that were lost.
local lost = {}
for i, one in ipairs(A) do
  if find_lease(one[1], one[2]) then
    call('ZADD', P .. K.deadlines, 'GT', now + R.lease_s, one[1])
  else
    lost[#lost + 1] = i
  end
end
return done(lost)
