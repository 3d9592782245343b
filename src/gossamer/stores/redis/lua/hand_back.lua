-- needs: base urls hosts pace rings agenda desk
-- Gives a borrowed place back.
local h = host_named(A[1], A[2])
local next_start = rested(h, A[3])
local lent = tonumber(call('HGET', P .. K.borrowed, h.key) or 0)
if lent == 0 then -- it was taken back, or lent by a server that has forgotten it
  h.next = math.max(h.next, next_start)
  return done_once(true)
elseif lent == 1 then
  call('HDEL', P .. K.borrowed, h.key)
  call('ZREM', P .. K.lent, h.key)
else
  call('HINCRBY', P .. K.borrowed, h.key, -1)
end
C.borrowed = C.borrowed - 1
end_visit(h, next_start)
return done_once(true)
