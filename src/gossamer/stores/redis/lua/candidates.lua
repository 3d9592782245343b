-- needs: base urls hosts
-- Returns the first URLs of the URL queue.
local ids = call('ZRANGE', P .. K.url_queue, 0, A[1] - 1)
local packed, out, credits = get_many(P .. K.urls, ids), {}, {}
for i, id in ipairs(ids) do
  if is_sound(packed[i]) then
    local u = read_url(tonumber(id), packed[i])
    local h = host(u.hid)
    local credit = credits[h.domain]
    if not credit then
      credit = tonumber(call('HGET', P .. K.credits, h.domain) or 0)
      credits[h.domain] = credit
    end
    out[#out + 1] = { u.id, u.url, h.name, h.domain, u.depth, credit }
  else
    quarantine(id, packed[i])
  end
end
return done({ C.credit, out })
