-- Who was refused because of a claim is told when it is dropped; his partition knows what to do.

-- Returns the URL of a kept page; nil if there is none.
local function owner_of(number)
  local page = call('HGET', P .. K.pages, text(number))
  if page then
    local _, id = struct.unpack('>dI5', page)
    return id
  end
end

-- Claims a number that the URL has had.
local function claim_again(id, number, digest, bands)
  call('HDEL', P .. K.pages, text(number))
  call('HSET', P .. K.claims, text(id), struct.pack(CLAIM, number, #digest) .. digest .. bands)
  call('SET', P .. K.digest .. digest, struct.pack('>dI5I5', 0, number, id))
end

local function drop_claim(id)
  local refusal = find_refusal(id)
  if refusal then
    call('HDEL', P .. K.refusals, text(id))
    if refusal.holder > 0 then
      call('SREM', P .. K.relying .. text(refusal.holder), text(id))
    end
  end
  local claim = find_claim(id)
  if not claim then
    return
  end
  call('HDEL', P .. K.claims, text(id))
  local _, _, holder = find_digest(claim.digest)
  if holder == id then
    call('DEL', P .. K.digest .. claim.digest)
  end
  forget_sketch(claim.number, claim.bands)
  call('ZADD', P .. K.free, claim.number, claim.number)
  for _, name in ipairs(call('SMEMBERS', P .. K.relying .. text(id))) do
    local duplicate = tonumber(name)
    send(duplicate % R.partitions, { 'void', duplicate, claim.number })
  end
  call('DEL', P .. K.relying .. text(id))
end
