-- The numbers of pages: 1, 2, 3 … without gaps. A claim that is given up frees its number, and
-- whoever was refused because of it must be visited again.

local claims = {}

local text = commands.text

-- Page and length of the digest, which follows with the bands; page, holder and whether it is void.
local CLAIM, REFUSAL = '>I5I1', '>I5I5B'

local function pack(page, digest, bands)
  return struct.pack(CLAIM, page, #digest) .. digest .. bands
end

local function read(packed)
  if not packed then
    return nil
  end
  local page, size, from = struct.unpack(CLAIM, packed)
  local digest = packed:sub(from, from + size - 1)
  return { page = page, digest = digest, bands = packed:sub(from + size) }
end

-- Claims and refusals are counted, as most of the time there are none and nobody need look.
local function put(ctx, hash, id, packed)
  ctx.counts.claims = ctx.counts.claims + ctx.call('HSET', ctx.prefix .. hash, text(id), packed)
end

local function remove(ctx, hash, id)
  if ctx.counts.claims > 0 then
    ctx.counts.claims = ctx.counts.claims - ctx.call('HDEL', ctx.prefix .. hash, text(id))
  end
end

local function get(ctx, hash, id)
  return ctx.counts.claims > 0 and ctx.call('HGET', ctx.prefix .. hash, text(id)) or nil
end

-- Returns what a URL claims; nil if nothing.
function claims.find(ctx, id)
  return read(get(ctx, K.claims, id))
end

-- Tells whether a URL claims the number of the page that it has.
function claims.is_again(ctx, id, claim)
  return ctx.rules.revisit_s < const.INF and urls.get(ctx, id).page == claim.page
end

local function next_number(ctx)
  local counts = ctx.counts
  if counts.free > 0 then
    counts.free = counts.free - 1
    return tonumber(ctx.call('ZPOPMIN', ctx.prefix .. K.free)[1])
  end
  counts.page = counts.page + 1
  return counts.page
end

-- Returns the page that a URL has since an earlier visit; 0 if it has none.
function claims.page_before(ctx, id)
  return ctx.rules.revisit_s < const.INF and urls.get(ctx, id).page or 0
end

-- Gives a URL the number of its page.
function claims.give_number(ctx, id, digest, bands)
  local page = next_number(ctx)
  put(ctx, K.claims, id, pack(page, digest, bands))
  if ctx.rules.similarity then
    digests.put(ctx, digest, 0, page, id)
  end
  return page
end

-- Returns a claim that nobody else sees, as its page is kept in the same step.
function claims.make(ctx, digest, bands, sample)
  return { page = next_number(ctx), digest = digest, bands = bands, sample = sample }
end

-- Lets a URL that is visited again claim the number of its page. The version before stands until
-- this one is kept, and nobody is compared with the claim.
function claims.give_again(ctx, id, page, digest, bands, sample)
  put(ctx, K.claims, id, pack(page, digest, bands))
  ctx.call('SET', ctx.prefix .. K.next_sample .. text(page), sample)
end

-- Returns why the page of a URL was refused; nil if it was not.
function claims.find_refusal(ctx, id)
  local packed = get(ctx, K.refusals, id)
  if not packed then
    return nil
  end
  local duplicate_of, holder, void = struct.unpack(REFUSAL, packed)
  return { duplicate_of = duplicate_of, holder = holder, void = void == 1 }
end

local function keep_refusal(ctx, id, duplicate_of, holder, void)
  put(ctx, K.refusals, id, struct.pack(REFUSAL, duplicate_of, holder, void and 1 or 0))
end

local function rely_no_more(ctx, id, refusal)
  if refusal and refusal.holder > 0 then
    ctx.call('SREM', ctx.prefix .. K.relying .. text(refusal.holder), text(id))
  end
end

-- Refuses the page of a URL because of a kept one, or because of the claim of another URL; what it
-- was refused for before no longer counts.
function claims.refuse(ctx, id, duplicate_of, holder)
  rely_no_more(ctx, id, claims.find_refusal(ctx, id))
  if holder > 0 then
    ctx.call('SADD', ctx.prefix .. K.relying .. text(holder), text(id))
  end
  keep_refusal(ctx, id, duplicate_of, holder, false)
end

-- Forgets why a page was refused: its URL has ended as a duplicate.
function claims.accept_refusal(ctx, id)
  remove(ctx, K.refusals, id)
end

-- Compares with this version of a page from now on, instead of the one before.
local function replace(ctx, claim)
  local name = text(claim.page)
  local before = read(ctx.call('HGET', ctx.prefix .. K.compared, name))
  if before then
    local next_sample = ctx.prefix .. K.next_sample .. name
    digests.remove(ctx, before.digest, claim.page)
    sketches.forget(ctx, claim.page, before.bands)
    if #claim.bands > 0 then
      sketches.keep(ctx, claim.page, 0, claim.bands, ctx.call('GET', next_sample))
    end
    ctx.call('DEL', next_sample)
  end
  ctx.call('HSET', ctx.prefix .. K.compared, name, pack(claim.page, claim.digest, claim.bands))
end

-- Notes that the claim of a URL has become a page, known for `left_ms` from now on; nil: for good.
function claims.fulfil(ctx, id, claim, fetched, left_ms)
  if not claim.sample then
    remove(ctx, K.claims, id)
    ctx.call('DEL', ctx.prefix .. K.relying .. text(id))
  end
  if ctx.rules.revisit_s < const.INF then
    replace(ctx, claim)
  end
  digests.put(ctx, claim.digest, fetched, claim.page, 0, left_ms)
  if #claim.bands == 0 then
    return
  elseif claim.sample then
    sketches.keep(ctx, claim.page, 0, claim.bands, claim.sample, nil, left_ms)
  else
    sketches.settle(ctx, claim.page, left_ms)
  end
end

-- Has a duplicate visited again: the page that it was refused for was given up.
local function visit_again(ctx, id, page)
  local refusal = claims.find_refusal(ctx, id)
  if refusal then
    keep_refusal(ctx, id, refusal.duplicate_of, refusal.holder, true)
    return
  end
  local u = urls.get(ctx, id)
  if u.state == const.DONE and u.duplicate_of == page then
    urls.reopen(ctx, u)
  end
end

-- Forgets that the page of a URL was refused.
function claims.drop_refusal(ctx, id)
  local refusal = claims.find_refusal(ctx, id)
  if refusal then
    claims.accept_refusal(ctx, id)
    rely_no_more(ctx, id, refusal)
  end
end

-- Returns the page that a new one repeats, with who claims it, and how similar it is (nil: the
-- same), for which it is refused; or the pages whose own contents have to be known first. What it
-- was refused for before does not count any more.
function claims.compare(ctx, id, digest, bands, sample, own)
  local found, unread
  if ctx.rules.similarity then
    local page, holder = digests.find(ctx, digest)
    if page then
      found = { page = page, holder = holder }
    elseif #bands > 0 then
      found, unread = sketches.most_similar(ctx, bands, sample, own)
    end
  end
  if found then
    claims.refuse(ctx, id, found.page, found.holder)
  else
    claims.drop_refusal(ctx, id)
  end
  return found, unread
end

-- Notes that a lease of a URL ends without a page: its number is free, its duplicates are visited.
function claims.drop(ctx, id)
  claims.drop_refusal(ctx, id)
  local claim = claims.find(ctx, id)
  if not claim then
    return
  end
  remove(ctx, K.claims, id)
  if claims.is_again(ctx, id, claim) then
    ctx.call('DEL', ctx.prefix .. K.next_sample .. text(claim.page))
    return
  end
  digests.remove(ctx, claim.digest, claim.page)
  sketches.forget(ctx, claim.page, claim.bands)
  ctx.call('ZADD', ctx.prefix .. K.free, text(claim.page), text(claim.page))
  ctx.counts.free = ctx.counts.free + 1
  local relying = ctx.call('SMEMBERS', ctx.prefix .. K.relying .. text(id))
  ctx.call('DEL', ctx.prefix .. K.relying .. text(id))
  table.sort(relying, function(one, other)
    return tonumber(one) < tonumber(other)
  end)
  for _, name in ipairs(relying) do
    visit_again(ctx, tonumber(name), claim.page)
  end
end

-- Queues a URL again as if it had not been leased.
function claims.release(ctx, u, h)
  claims.drop(ctx, u.id)
  scheduler.queue(ctx, h, u)
end

return claims
