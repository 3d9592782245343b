-- needs: base urls hosts pace rings agenda scheduler leases
-- Hands out URLs of hosts whose moment has come, within the budgets.
local worker, limit = A[1], A[2]
join(worker)
C.closed = AT_WORK
if R.strict and C.unscored > 0 then -- a better one may be among those
  return done_once({ {}, now + const.ASK_AGAIN_S - offset })
end
local tasks = {}
while #tasks < limit do
  local h = first_host(worker)
  if not h or exhausted_by(C.in_progress) then
    break
  end
  local id = id_of(call('ZPOPMIN', P .. K.assigned .. h.key)[1])
  cross_out(h)
  count_assigned(h, -1)
  local d = domain(h.domain)
  d.busy = d.busy + 1
  h.in_progress = h.in_progress + 1
  h.taskless_last = false
  announce(h)
  offer(h)
  local u = move_to(id, const.LEASED)
  local number = grant(u, h, worker)
  tasks[#tasks + 1] =
    { u.id, number, u.url, h.name, u.depth, u.attempts + 1, u.hops, is_hopeless(h) }
end
local wake = now
if not first_host(worker) then
  wake = next_moment(worker)
end
return done_once({ tasks, wake and wake - offset or false })
