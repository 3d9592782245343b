-- needs: base urls hosts pace rings agenda scheduler leases sketches claims
-- Lets everything wait again that was assigned or in progress: whoever was at it is gone. Unless
-- they ended in order nobody knows when a host was last asked, and each gets one full delay.
call('SET', P .. K.rules, ARGV[4])
if C.closed == AT_WORK then
  C.unsure = math.max(C.unsure, now)
end
local in_rings, queues_before = {}, A[1]
if queues_before ~= R.queues then
  for q = 0, queues_before - 1 do
    for _, hid in ipairs(call('LRANGE', P .. K.ring .. q, 0, -1)) do
      in_rings[tonumber(hid)] = true
    end
    call('DEL', P .. K.ring .. q)
  end
end
for _, name in ipairs(call('HKEYS', P .. K.leases)) do
  local id = tonumber(name)
  local h = find_lease(id)
  end_lease(id, h, h.next)
  wait_again(url(id), h)
end
local taken = call('HGETALL', P .. K.taken_slots)
for i = 1, #slot_deadlines, 2 do
  local h = host(tonumber(taken[i]))
  h.in_progress = h.in_progress - tonumber(taken[i + 1]) + 1
  end_visit(h, h.next)
end
call('DEL', P .. K.taken_slots, P .. K.slot_deadlines)
C.taken_slots = 0
for _, name in ipairs(call('ZRANGE', P .. K.seen, 0, -1)) do
  local worker = tonumber(name)
  for _, hid in ipairs(call('SMEMBERS', P .. K.served .. worker)) do
    local h = host(tonumber(hid))
    requeue(h, recall(h))
  end
  call('DEL', P .. K.agenda .. worker, P .. K.ready .. worker)
  call_all_back(worker)
end
call_all_back(ANY)
repeat -- what still has to rest is set aside again when its turn comes
until end_rests('+inf') == 0
for hid in pairs(in_rings) do
  offer(host(hid))
end
call('DEL', P .. K.seen, P .. K.loads, P .. K.domains)
domains, changed_domains = {}, {}
return done(true)
