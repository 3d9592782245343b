-- needs: base urls hosts pace rings agenda desk
-- Gives a borrowed place back.
local h = host_named(A[1], A[2])
local next_start = rested(h, A[3])
if call('HINCRBY', P .. K.borrowed, h.hid, -1) <= 0 then
  call('HDEL', P .. K.borrowed, h.hid)
end
C.borrowed = C.borrowed - 1
end_visit(h, next_start)
return done_once(true)
