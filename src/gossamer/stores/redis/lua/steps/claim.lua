-- Gives a page its number, unless the same content, or a similar one, is kept. A page that is
-- visited again keeps its number.

-- A sample of an own content: its page, and how long it is.
local OWN, OWN_BYTES = '>I5I2', 7

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

steps.repeatable('claim', function(ctx, message, digest, bands, sample, read)
  local id = message[1]
  if not leases.find(ctx, id, message[2]) then
    return { lost = true }
  end
  local held = claims.find(ctx, id)
  if held then
    return { page_id = held.page, again = claims.is_again(ctx, id, held) }
  end
  local page_before = claims.page_before(ctx, id)
  if page_before > 0 then
    claims.give_again(ctx, id, page_before, digest, bands, sample)
    return { page_id = page_before, again = true }
  end
  local own = learn(ctx, read)
  local found, unread = claims.compare(ctx, id, digest, bands, sample, own)
  if unread then
    return { unread = unread }
  end
  if found then
    return {
      duplicate_of = found.page, similarity = found.similarity,
      own_similarity = found.own_similarity,
    }
  end
  local number = claims.give_number(ctx, id, digest, bands)
  if #bands > 0 then
    sketches.keep(ctx, number, id, bands, sample, own)
  end
  return { page_id = number }
end)
