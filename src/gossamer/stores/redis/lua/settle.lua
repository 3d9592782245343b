-- needs: base urls hosts pace rings agenda scheduler leases sketches claims links pages
-- Records everything that came of a task, if its lease is still the newest.
local s = A
local id = s.url_id
local h = find_lease(id, s.lease)
if not h then
  return done_once({ accepted = false })
end
local u = url(id)
local claim, refusal = find_claim(id), find_refusal(id)
if (s.page_id and not (claim and claim.number == s.page_id)) or (s.duplicate and not refusal) then
  -- it was claimed in the last seconds of a server that has lost them: it is to be claimed again
  end_lease(id, h, s.feedback and rested(h, s.feedback) or h.next)
  wait_again(u, h)
  return done_once({ accepted = false })
end
end_lease(id, h, s.feedback and rested(h, s.feedback) or h.next)
C.bytes = C.bytes + s.size
local attempt = { now, s.outcome, s.cause, s.detail, s.status or false }
if s.retry or (s.duplicate and refusal and refusal.void) then
  drop_claim(id)
  add_attempt(u, attempt)
  u.score, u.state = const.MAX_SCORE, const.QUEUED
  set(u, SCORED, true)
  enqueue(h, const.MAX_SCORE, id)
  return done_once({ accepted = true })
end

local path = { depth = u.depth + 1, hops = 0, parent = id }
if s.redirect then
  path = { depth = u.depth, hops = u.hops + 1, parent = id }
end
-- the URL may have come nearer since it was leased
local is_nearer = u.depth < s.depth or u.hops < s.hops
local growth = add_links(s, ARGV[4], path, now - R.ttl_s, is_nearer)
u.state, u.finished, u.page, u.duplicate_of = const.DONE, now, 0, s.duplicate and refusal and refusal.duplicate_of or 0
set(u, REDIRECT, s.redirect)
add_attempt(u, attempt)
keep_targets(u, growth.ids)
call('HINCRBY', P .. K.outcomes, s.outcome, 1)
if s.page_id then
  C.pages = C.pages + 1
  h.pages = h.pages + 1
  touch(h)
  u.page = s.page_id
  keep_page(u, claim, s.fetched_at + offset, ARGV[5], ARGV[6])
  if u.depth < s.depth then
    growth.nearer[u.page] = u
  end
elseif refusal and s.duplicate then
  call('HDEL', P .. K.refusals, id)
else
  drop_claim(id)
end
overtake(growth)
share_credit(h.domain, s.domains)
local nearer = {}
for page, one in pairs(growth.nearer) do
  call('HSET', P .. K.depth_changes, page, one.id)
  nearer[#nearer + 1] = { page, one.depth }
end
local learnt = {}
for i, link in ipairs(s.links) do
  if type(link) == 'string' then
    local at = growth.finished[i]
    learnt[#learnt + 1] = growth.ids[i]
    learnt[#learnt + 1] = at and at < INF and at - offset or 0
  end
end
return done_once({
  accepted = true, new = growth.new, nearer = nearer, learnt = learnt,
  depth = path.depth, hops = path.hops,
})
