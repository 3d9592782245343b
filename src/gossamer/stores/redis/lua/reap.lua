-- needs: base urls hosts pace rings agenda scheduler leases sketches claims
-- Gives back what the dead have left, and forgets what has expired.

-- A URL that has cost several workers their lives is not tried again.
local function finish_poison(u)
  drop_claim(u.id)
  add_attempt(u, { now, 'gave_up', '', const.POISON_WORDS, false })
  u.state, u.finished, u.page = const.DONE, now, 0
  set(u, REDIRECT, false)
  keep_targets(u, {})
  call('HINCRBY', P .. K.outcomes, 'gave_up', 1)
end

local found = 0
for _, name in ipairs(call('ZRANGEBYSCORE', P .. K.deadlines, '-inf', now, 'LIMIT', 0, 1000)) do
  local id = tonumber(name)
  local h, worker = find_lease(id)
  local u = url(id)
  end_lease(id, h, now + delay(h))
  local seen = tonumber(call('ZSCORE', P .. K.seen, worker) or 0)
  if seen + R.lease_s / 2 <= now then -- who lives is heard of more often
    u.deaths = u.deaths + 1
    change(u)
  end
  if u.deaths >= const.POISON_DEATHS then
    finish_poison(u)
  else
    wait_again(u, h)
  end
  found = found + 1
end

for _, hid in ipairs(call('ZRANGEBYSCORE', P .. K.slot_deadlines, '-inf', now)) do
  local h, slot_deadlines = host(tonumber(hid)), tonumber(call('HGET', P .. K.taken_slots, hid))
  call('HDEL', P .. K.taken_slots, hid)
  call('ZREM', P .. K.slot_deadlines, hid)
  C.taken_slots = C.taken_slots - slot_deadlines
  h.in_progress = h.in_progress - taken + 1
  end_visit(h, now + delay(h))
end

local silent, busy = call('ZRANGEBYSCORE', P .. K.seen, '-inf', now - R.lease_s), {}
if #silent > 0 then
  for _, packed in ipairs(call('HVALS', P .. K.leases)) do
    local _, worker = struct.unpack(LEASE, packed)
    busy[worker] = true
  end
end
for _, name in ipairs(silent) do
  local worker = tonumber(name)
  -- one that has a lease stays until it is given back: its hosts must not change hands
  if not busy[worker] then
    for _, hid in ipairs(call('SMEMBERS', P .. K.served .. worker)) do
      local h = host(tonumber(hid))
      requeue(h, recall(h))
      found = found + 1
    end
    call('ZREM', P .. K.loads, pad(worker))
    call('ZREM', P .. K.seen, worker)
    call('DEL', P .. K.agenda .. worker, P .. K.ready .. worker)
    call_all_back(worker)
  end
end

if R.given then -- else the server forgets by itself
  local old = call('ZRANGEBYSCORE', P .. K.kept, '-inf', now - R.ttl_s, 'LIMIT', 0, const.EXPIRED_AT_ONCE)
  for _, number in ipairs(old) do
    call('DEL', P .. K.content .. number, P .. K.sample .. number)
    call('ZREM', P .. K.kept, number)
  end
end
return done(found + end_rests(now + const.SOON_S))
