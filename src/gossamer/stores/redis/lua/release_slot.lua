-- needs: base urls hosts pace rings agenda scheduler
-- Gives a slot without a task back.
local h = host_named(A[1], A[2])
local next_start = rested(h, A[3])
local taken = tonumber(call('HGET', P .. K.taken_slots, h.key) or 0)
if taken == 0 then -- it was taken back, or given by a server that has forgotten it
  h.next = math.max(h.next, next_start)
  return done_once(true)
elseif taken == 1 then
  call('HDEL', P .. K.taken_slots, h.key)
  call('ZREM', P .. K.slot_deadlines, h.key)
else
  call('HINCRBY', P .. K.taken_slots, h.key, -1)
end
C.taken_slots = C.taken_slots - 1
end_visit(h, next_start)
return done_once(true)
