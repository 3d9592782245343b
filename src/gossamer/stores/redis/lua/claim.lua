-- needs: base urls hosts rings agenda scheduler leases sketches claims
-- Gives a page its number, unless the same content, or nearly the same, was kept within the TTL.
local id, digest, bands, sample = A[1], ARGV[4], ARGV[5], ARGV[6]
if not find_lease(id, A[2]) then
  return done({ lost = true })
end
local own = find_claim(id)
if own then
  return done({ page_id = own.number })
end

if R.similarity then
  local fetched, page, holder = find_digest(digest)
  if fetched and (holder > 0 or fetched > now - R.ttl_s) then
    return answer_duplicate(id, page, holder, nil)
  end
  if #bands > 0 then
    local similar, its_holder, how_much = most_similar(bands, sample)
    if similar then
      return answer_duplicate(id, similar, its_holder, how_much)
    end
  end
end
drop_claim(id) -- what it was refused for before is no longer there
local number = give_number(id, digest, bands)
if #bands > 0 then
  keep_sketch(number, id, bands, sample)
end
return done({ page_id = number })
