-- Records everything that came of a task, if its lease is still the newest.

local COUNTERS = {
  'unscored', 'queued', 'assigned', 'in_progress', 'urls', 'line', 'pages', 'bytes', 'credit',
  'started', 'last',
}

-- Tells whether the page was claimed in the last seconds of a server that has lost them: then it is
-- to be claimed again.
local function is_claim_lost(message, claim, refusal)
  if message.page_id then
    return not claim or claim.page ~= message.page_id
  end
  return message.duplicate and not refusal
end

-- Keeps the page of a URL, or gives up what it has claimed.
local function keep_page(ctx, message, u, h, claim, note, content)
  if message.page_id then
    ctx.counts.pages = ctx.counts.pages + 1
    h.pages = h.pages + 1
    hosts.change(ctx, h)
    pages.keep(ctx, u, claim, message.fetched_at + ctx.offset, note, content)
  elseif message.duplicate then
    claims.accept_refusal(ctx, u.id)
  else
    claims.drop(ctx, u.id)
  end
end

-- Returns for each link that came as a URL its id, and when it was done (0: it is not).
local function learnt_of(ctx, found, growth)
  local learnt, count = {}, 0
  for i = 1, #found do
    if type(found[i]) == 'string' then
      local at = growth.finished[i]
      learnt[count + 1] = growth.ids[i]
      learnt[count + 2] = at and at < const.INF and at - ctx.offset or 0
      count = count + 2
    end
  end
  return learnt
end

-- Ends the URL of a task, and adds what was found on its page.
local function finish(ctx, message, u, h, claim, refusal, keys, note, content)
  local path = paths.behind(u, message.redirect)
  -- the URL may have come nearer since it was leased
  local is_nearer = u.depth < message.depth or u.hops < message.hops
  local growth = links.add(ctx, message, keys, path, ctx.now - ctx.rules.ttl_s, is_nearer)
  local duplicate_of = message.duplicate and refusal.duplicate_of or 0
  urls.finish(ctx, u, message.outcome, message.page_id or 0, duplicate_of, message.redirect)
  urls.keep_targets(ctx, u, growth.ids)
  if u.page > 0 and u.depth < message.depth then
    growth.nearer[u.page] = u
  end
  keep_page(ctx, message, u, h, claim, note, content)
  links.overtake(ctx, growth)
  pages.share_credit(ctx, h.domain, message.domains)
  return {
    accepted = true, new = growth.new, nearer = links.note_nearer(ctx, growth),
    learnt = learnt_of(ctx, message.links, growth), depth = path.depth, hops = path.hops,
  }
end

steps.once('settle', COUNTERS, function(ctx, message, keys, note, content)
  local id = message.url_id
  local lease = leases.find(ctx, id, message.lease)
  if not lease then
    return { accepted = false }
  end
  local h, u = hosts.get(ctx, lease.hid), urls.get(ctx, id)
  local claim = message.page_id and claims.find(ctx, id)
  local refusal = message.duplicate and claims.find_refusal(ctx, id)
  local told = message.feedback
  leases.finish(ctx, id, lease, h, told and feedback.take(ctx, h, told) or h.next)
  if is_claim_lost(message, claim, refusal) then
    claims.release(ctx, u, h)
    return { accepted = false }
  end
  ctx.counts.bytes = ctx.counts.bytes + message.size
  local status = message.status or false
  urls.add_attempt(ctx, u, { ctx.now, message.outcome, message.cause, message.detail, status })
  if message.retry or (message.duplicate and refusal.void) then
    claims.drop(ctx, id)
    scheduler.queue_last(ctx, h, u)
    return { accepted = true }
  end
  return finish(ctx, message, u, h, claim, refusal, keys, note, content)
end)
