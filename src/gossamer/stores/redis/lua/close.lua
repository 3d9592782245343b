-- needs: base
-- Notes that a process has ended in order, if it was the last and has left nothing in progress. Its
-- workers are as good as silent: what was assigned to them is for others.
for _, worker in ipairs(A) do
  call('ZADD', P .. K.seen, 'XX', 0, worker)
end
if C.in_progress == 0 and C.taken_slots == 0 then
  C.closed = IN_ORDER
end
return done(true)
