-- Gives a page its number, unless the same content, or a similar one, is kept. A page that is
-- visited again keeps its number.

-- A sample of an own content: its page, and how long it is.
local OWN, OWN_BYTES = '>I5I2', 7

-- Returns the page that a new one repeats, with who claims it, and how similar it is (nil: the
-- same); or the pages whose own contents have to be known first.
local function find_duplicate(ctx, digest, bands, sample, own)
  local page, holder = digests.find(ctx, digest)
  if page then
    return { page = page, holder = holder }
  end
  if #bands > 0 then
    return sketches.most_similar(ctx, bands, sample, own)
  end
end

-- Keeps the samples of own contents that were read; returns that of this page.
local function learn(ctx, packed)
  local mine, at = nil, 1
  while at <= #packed do
    local page, size = struct.unpack(OWN, packed, at)
    local own = packed:sub(at + OWN_BYTES, at + OWN_BYTES + size - 1)
    if page == const.THIS_PAGE then
      mine = own
    else
      sketches.keep_own(ctx, page, own)
    end
    at = at + OWN_BYTES + size
  end
  return mine
end

steps.repeatable('claim', { 'page' }, function(ctx, message, digest, bands, sample, read)
  local id = message[1]
  if not leases.find(ctx, id, message[2]) then
    return { lost = true }
  end
  local held = claims.find(ctx, id)
  if held then
    return { page_id = held.page, again = claims.is_again(ctx, id, held) }
  end
  local page_before = ctx.rules.revisit_s < const.INF and urls.get(ctx, id).page or 0
  if page_before > 0 then
    claims.give_again(ctx, id, page_before, digest, bands, sample)
    return { page_id = page_before, again = true }
  end
  local own = learn(ctx, read)
  if ctx.rules.similarity then
    local found, unread = find_duplicate(ctx, digest, bands, sample, own)
    if unread then
      claims.drop_refusal(ctx, id)
      return { unread = unread }
    end
    if found then
      claims.refuse(ctx, id, found.page, found.holder)
      return {
        duplicate_of = found.page, similarity = found.similarity,
        own_similarity = found.own_similarity,
      }
    end
  end
  claims.drop_refusal(ctx, id) -- what it was refused for before is no longer there
  local number = claims.give_number(ctx, id, digest, bands)
  if #bands > 0 then
    sketches.keep(ctx, number, id, bands, sample, own)
  end
  return { page_id = number }
end)
