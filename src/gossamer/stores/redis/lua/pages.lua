-- Keeping pages and their contents, each for its time.

local function keep_page(u, claim, fetched, record, content)
  local number, name, left_ms = claim.number, text(claim.number), nil
  assert(number == u.page, 'a page has claimed its number')
  call('HDEL', P .. K.claims, text(u.id))
  call('DEL', P .. K.relying .. text(u.id))
  call('HSET', P .. K.pages, name, struct.pack('>dI5', fetched, u.id) .. record)
  local digest_key, content_key = P .. K.digest .. claim.digest, P .. K.content .. name
  local digest = struct.pack('>dI5I5', fetched, number, 0)
  if R.given then
    call('SET', digest_key, digest)
    call('SET', content_key, content)
    call('ZADD', P .. K.kept, fetched, name)
  else
    left_ms = math.max(1, math.ceil((fetched + R.ttl_s - now) * 1000))
    left_ms = math.min(left_ms, const.LONGEST_MS)
    call('SET', digest_key, digest, 'PX', text(left_ms))
    call('SET', content_key, content, 'PX', text(left_ms))
  end
  if #claim.bands > 0 then
    settle_sketch(number, left_ms)
  end
end

-- Shares a page's credit among the other domains that it links to: names and counts in turn.
local function share_credit(own, links)
  local total, names, counts, out = 0, {}, {}, {}
  for i = 1, #links, 2 do
    if links[i] ~= own then
      names[#names + 1] = links[i]
      counts[#names] = links[i + 1]
      total = total + links[i + 1]
    end
  end
  local credits = get_many(P .. K.credits, names)
  for i = 1, #names do
    local credit = (tonumber(credits[i] or nil) or 0) + counts[i] / total
    out[#out + 1] = names[i]
    out[#out + 1] = credit
    C.credit = math.max(C.credit, credit)
  end
  in_portions('HSET', P .. K.credits, out)
end
