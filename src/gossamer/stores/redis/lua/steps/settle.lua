-- Records everything that came of a task, if its lease is still the newest: `settle`, and `keep` for
-- a page that claims its number in the same call.

-- What is left out of a message.
local NOTHING = {
  depth = 0, hops = 0, cause = '', detail = '', size = 0, received = 0, similarity = 0,
  own_similarity = 0, fetched_at = 0, hosts = {}, links = {}, urls = {}, host_indexes = {}, scores = {},
  listings = {}, domains = {}, retry = false, duplicate = false, redirect = false, again = false,
}
local OF_MESSAGE = { __index = NOTHING }

-- Makes of a settlement that of a page with the same content as another (keeping.py): what it links
-- to is known.
local function as_same(message, page)
  message.outcome, message.cause, message.duplicate = const.DUPLICATE, '', true
  message.detail = const.SAME_CONTENT .. commands.text(page)
  message.page_id = nil
  message.links, message.urls, message.hosts, message.host_indexes = {}, {}, {}, {}
  message.domains = {}
  message.scores, message.listings = {}, {}
  return message
end

-- Tells whether the page was claimed in the last seconds of a server that has lost them: then it is
-- to be claimed again.
local function is_claim_lost(message, claim, refusal)
  if message.page_id then
    return not claim or claim.page ~= message.page_id
  end
  return message.duplicate and not refusal
end

-- Keeps the page of a URL, or gives up what it has claimed.
local function keep_page(ctx, message, u, h, claim, is_new, note, content)
  if message.page_id then
    ctx.counts.visits = ctx.counts.visits + 1
    if is_new then
      ctx.counts.pages = ctx.counts.pages + 1
      h.pages = h.pages + 1
      hosts.change(ctx, h)
      if host_limits.of(ctx, h.name).max_pages then -- fewer requests at once may be allowed now
        scheduler.end_visit(ctx, h, h.next, 0)
      end
    end
    pages.keep(ctx, u, claim, message.fetched_at + ctx.offset, note, content)
  elseif message.duplicate then
    claims.accept_refusal(ctx, u.id)
  else
    claims.drop(ctx, u.id)
  end
end

-- Ends the URL of a task, and adds what was found on its page.
local function finish(
  ctx, message, attempt, u, h, claim, refusal, keys, note, content, records, row, ...
)
  local path = paths.behind(u, message.redirect)
  -- the URL may have come nearer since it was leased
  local is_nearer = u.depth < message.depth or u.hops < message.hops
  local growth = links.growth()
  paths.follow_whole(ctx, u, growth)
  slices.add_all(ctx, u.id, growth)
  links.add(ctx, growth, message, keys, path, ctx.now - ctx.rules.revisit_s, is_nearer)
  local duplicate_of, is_new = message.duplicate and refusal.duplicate_of or 0, u.page == 0
  urls.finish(ctx, u, attempt, message.page_id or 0, duplicate_of, message.redirect)
  urls.set_likeness(u, message.similarity, message.own_similarity)
  urls.keep_targets(ctx, u, growth.ids)
  slices.keep(ctx, u, message, ...)
  if message.page_id and u.depth < message.depth then
    growth.nearer[u.page] = u
  end
  keep_page(ctx, message, u, h, claim, is_new, note, content)
  results.append(ctx, u, message.page_id or 0, records, row)
  local nearer = links.grow(ctx, growth)
  pages.share_credit(ctx, h.domain, message.domains)
  local learnt, finished = links.learnt(ctx, growth, path)
  return {
    accepted = true, new = growth.new, nearer = nearer, learnt = learnt, finished = finished,
  }
end

-- Records what came of a task that is still leased, with what its URL has claimed, or why its page
-- was refused.
local function settle(ctx, message, lease, claim, refusal, ...)
  local id = message.url_id
  local h, u = hosts.get(ctx, lease.hid), urls.get(ctx, id)
  local told = message.feedback
  local next_start = told and feedback.take(ctx, h, told) or h.next
  leases.finish(ctx, id, lease, h, next_start, message.received)
  if is_claim_lost(message, claim, refusal) then
    claims.release(ctx, u, h)
    return { accepted = false }
  end
  ctx.counts.bytes = ctx.counts.bytes + message.size
  local status = message.status or false
  local attempt = { ctx.now, message.outcome, message.cause, message.detail, status }
  urls.add_attempt(ctx, u, attempt)
  if message.retry or (message.duplicate and refusal.void) then
    claims.drop(ctx, id)
    scheduler.queue_last(ctx, h, u)
    return { accepted = true }
  end
  return finish(ctx, message, attempt, u, h, claim, refusal, ...)
end

steps.once('settle', function(ctx, message, ...)
  setmetatable(message, OF_MESSAGE)
  local id = message.url_id
  local lease = leases.find(ctx, id, message.lease)
  if not lease then
    return { accepted = false }
  end
  local claim = message.page_id and claims.find(ctx, id)
  local refusal = message.duplicate and claims.find_refusal(ctx, id)
  return settle(ctx, message, lease, claim, refusal, ...)
end)

-- Claims the number of a page and settles it, in one step: nobody has to see it in between.
steps.once('keep', function(ctx, message, digest, bands, sample, ...)
  setmetatable(message, OF_MESSAGE)
  local id = message.url_id
  local lease = leases.find(ctx, id, message.lease)
  if not lease then
    return { accepted = false }
  end
  local claim = claims.find(ctx, id)
  local page_before = claim and 0 or claims.page_before(ctx, id)
  if page_before > 0 then
    claims.give_again(ctx, id, page_before, digest, bands, sample)
    claim = claims.find(ctx, id)
  elseif not claim then
    local found, unread = claims.compare(ctx, id, digest, bands, sample)
    if unread then
      return { accepted = false, unread = unread }
    end
    if found then
      local refusal = claims.find_refusal(ctx, id)
      local same = as_same(message, found.page)
      local answer = settle(ctx, same, lease, nil, refusal, '', '', '', '', '')
      answer.repeats = found.page
      return answer
    end
    claim = claims.make(ctx, digest, bands, sample)
  end
  message.page_id = claim.page
  return settle(ctx, message, lease, claim, nil, ...)
end)
