-- Gives a page its number, unless the same content, or a similar one, was kept within the TTL.

-- Returns the page that a new one repeats, who claims it, and how similar it is (nil: the same).
local function find_duplicate(ctx, digest, bands, sample)
  local fetched, page, holder = claims.find_digest(ctx, digest)
  if fetched and (holder > 0 or fetched > ctx.now - ctx.rules.ttl_s) then
    return page, holder, nil
  end
  if #bands > 0 then
    return sketches.most_similar(ctx, bands, sample)
  end
end

steps.repeatable('claim', { 'page' }, function(ctx, message, digest, bands, sample)
  local id = message[1]
  if not leases.find(ctx, id, message[2]) then
    return { lost = true }
  end
  local own = claims.find(ctx, id)
  if own then
    return { page_id = own.page }
  end
  if ctx.rules.similarity then
    local page, holder, similarity = find_duplicate(ctx, digest, bands, sample)
    if page then
      claims.refuse(ctx, id, page, holder)
      return { duplicate_of = page, similarity = similarity }
    end
  end
  claims.drop_refusal(ctx, id) -- what it was refused for before is no longer there
  local number = claims.give_number(ctx, id, digest, bands)
  if #bands > 0 then
    sketches.keep(ctx, number, id, bands, sample)
  end
  return { page_id = number }
end)
