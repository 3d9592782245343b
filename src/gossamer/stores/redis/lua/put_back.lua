-- needs: base urls hosts pace rings agenda desk leases sketches claims
-- Gives a task back undone; false if the lease was lost.
local id, number, pace = A[1], A[2], A[3]
local h = find_lease(id, number)
if not h then
  return done_once(false)
end
end_lease(id, h, pace and rested(h, pace) or now + delay(h))
wait_again(url(id), h)
return done_once(true)
