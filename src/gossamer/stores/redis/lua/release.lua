-- needs: base urls hosts pace rings agenda scheduler leases sketches claims
-- Gives a task back undone; false if the lease was lost.
local id, number, feedback = A[1], A[2], A[3]
local h = find_lease(id, number)
if not h then
  return done_once(false)
end
end_lease(id, h, feedback and rested(h, feedback) or now + delay(h))
wait_again(url(id), h)
return done_once(true)
