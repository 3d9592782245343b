-- needs: base urls hosts leases sketches claims
-- Gives a page its number, unless the same content, or nearly the same, was kept within the TTL.
local id, digest, bands, sample = A[1], ARGV[4], ARGV[5], ARGV[6]
if not find_lease(id, A[2]) then
  return done({ lost = true })
end
local own = find_claim(id)
if own then
  return done({ page_id = own.number })
end

local function refused(twin, holder, similarity)
  local before = find_refusal(id)
  if before and before.holder > 0 then
    call('SREM', P .. K.relying .. text(before.holder), text(id))
  end
  refuse(id, twin, holder)
  return done({ twin_of = twin, similarity = similarity })
end

-- A page that its own partition has lost is kept again under its number.
local function answered(page, holder, similarity)
  if holder > 0 or owner_of(page) ~= id then
    return refused(page, holder, similarity)
  end
  drop_claim(id)
  claim_again(id, page, digest, bands)
  if #bands > 0 then
    forget_sketch(page, bands)
    keep_sketch(page, id, bands, sample)
  end
  return done({ page_id = page })
end

if R.similarity then
  local fetched, page, holder = find_digest(digest)
  if fetched and (holder > 0 or fetched > now - R.ttl_s) then
    return answered(page, holder, nil)
  end
  if #bands > 0 then
    local similar, its_holder, how_much = most_similar(bands, sample)
    if similar then
      return answered(similar, its_holder, how_much)
    end
  end
end
drop_claim(id) -- what it was refused for before is no longer there
local number = give_number(id, digest, bands)
if #bands > 0 then
  keep_sketch(number, id, bands, sample)
end
return done({ page_id = number })
