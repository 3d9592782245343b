-- What the partitions tell the centre: how leases ended with which something was claimed.

local told = { new = {}, nearer = {} }

-- Notes whose page a number is, and for how long its content is known, which is returned.
local function note_page(id, number, fetched, digest)
  call('HSET', P .. K.pages, text(number), struct.pack('>dI5', fetched, id))
  local name, packed = P .. K.digest .. digest, struct.pack('>dI5I5', fetched, number, 0)
  if R.given then
    call('SET', name, packed)
    return nil
  end
  local left_ms = math.max(1, math.ceil((fetched + R.ttl_s - now) * 1000))
  left_ms = math.min(left_ms, const.LONGEST_MS)
  call('SET', name, packed, 'PX', text(left_ms))
  return left_ms
end

-- Takes note of a page whose claim was lost with the last moments of this server. Somebody else
-- may have its number by now: then it is to be visited again.
local function adopt(id, number, fetched, digest)
  local owner = owner_of(number)
  if owner == id then
    return
  end
  local is_free = number > C.page or call('ZREM', P .. K.free, text(number)) == 1
  if owner or not is_free then
    send(id % R.partitions, { 'unkeep', id, number })
    return
  end
  for missing = C.page + 1, number - 1 do
    call('ZADD', P .. K.free, text(missing), text(missing))
  end
  C.page = math.max(C.page, number)
  note_page(id, number, fetched, digest)
end

-- Notes that a page is kept with a lease.
local function keep(id, lease, number, fetched, hex)
  local claim = newest_lease(id) == lease and find_claim(id)
  if not claim or claim.number ~= number then
    local digest = string.gsub(hex, '..', function(two)
      return string.char(tonumber(two, 16))
    end)
    adopt(id, number, fetched, digest)
    return
  end
  call('HDEL', P .. K.claims, text(id))
  call('DEL', P .. K.relying .. text(id))
  local left_ms = note_page(id, number, fetched, claim.digest)
  if #claim.bands > 0 then
    settle_sketch(number, left_ms)
  end
end

local function take_in(_, message)
  local kind, id, lease = message[1], message[2], message[3]
  local newest = newest_lease(id)
  if kind == 'keep' then
    keep(id, lease, message[4], message[5], message[6])
  elseif newest > lease then
    return
  elseif kind == 'drop' then
    drop_claim(id)
  else
    call('HDEL', P .. K.refusals, text(id))
  end
  if newest <= lease then
    call('ZREM', P .. K.claimants, text(id))
  end
end
