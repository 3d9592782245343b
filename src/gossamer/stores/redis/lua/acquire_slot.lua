-- needs: base urls hosts rings agenda scheduler
-- Takes one of the host's places for a request without a URL of its own. Answers false if it may
-- be sent now, else when to ask again: the place is kept until then. A host that is always at work
-- would never have one; but it gives only every other time.
local h = host_named(A[1], A[2])

local function promise(moment)
  if not h.taskless_last then
    h.promised = moment + const.PROMISE_S
    touch(h)
  end
  return done_once(moment - offset)
end

if h.in_progress >= slots(h) then
  return promise(now + math.max(delay(h), const.ASK_AGAIN_S))
end
if h.next > now then
  return promise(h.next)
end
h.promised = -INF
h.taskless_last = true
h.in_progress = h.in_progress + 1
C.taken_slots = C.taken_slots + 1
call('HINCRBY', P .. K.taken_slots, h.hid, 1)
call('ZADD', P .. K.slot_deadlines, now + R.lease_s, h.key) -- who is alive has given it back by then
if h.in_progress >= slots(h) then
  cross_out(h)
end
touch(h)
return done_once(false)
