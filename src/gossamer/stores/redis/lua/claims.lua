-- The numbers of pages: 1, 2, 3 … without holes. A claim that is given up frees its number, and
-- whoever was refused because of it must be visited again.

local CLAIM, REFUSAL = '>I5I1', '>I5I5B'

local function find_claim(id)
  local packed = call('HGET', P .. K.claims, text(id))
  if not packed then
    return nil
  end
  local number, size, from = struct.unpack(CLAIM, packed)
  local digest = string.sub(packed, from, from + size - 1)
  return { number = number, digest = digest, bands = string.sub(packed, from + size) }
end

local function give_number(id, digest, bands)
  local number = tonumber(call('ZPOPMIN', P .. K.free)[1])
  if not number then
    C.page = C.page + 1
    number = C.page
  end
  call('HSET', P .. K.claims, text(id), struct.pack(CLAIM, number, #digest) .. digest .. bands)
  if R.similarity then
    call('SET', P .. K.digest .. digest, struct.pack('>dI5I5', 0, number, id))
  end
  return number
end

local function find_refusal(id)
  local packed = call('HGET', P .. K.refusals, text(id))
  if not packed then
    return nil
  end
  local duplicate_of, holder, void = struct.unpack(REFUSAL, packed)
  return { duplicate_of = duplicate_of, holder = holder, void = void == 1 }
end

local function keep_refusal(id, one)
  call('HSET', P .. K.refusals, text(id), struct.pack(REFUSAL, one.duplicate_of, one.holder, one.void and 1 or 0))
end

-- Refuses the page of a URL because of a kept one, or because of the claim of another URL.
local function refuse(id, duplicate_of, holder)
  if holder > 0 then
    call('SADD', P .. K.relying .. text(holder), text(id))
  end
  keep_refusal(id, { duplicate_of = duplicate_of, holder = holder, void = false })
end

-- Returns when a content was fetched, its page, and who claims it.
local function find_digest(digest)
  local packed = call('GET', P .. K.digest .. digest)
  if packed then
    return struct.unpack('>dI5I5', packed)
  end
end

-- Returns the URL of a kept page; nil if there is none.
local function owner_of(number)
  local page = call('HGET', P .. K.pages, text(number))
  if page then
    local _, id = struct.unpack('>dI5', page)
    return id
  end
end

-- Has a duplicate visited again: what it was refused for, under that number, was given up.
local function visit_again(duplicate, number)
  local its = find_refusal(duplicate)
  if its then
    its.void = true
    keep_refusal(duplicate, its)
  else
    reopen(url(duplicate))
  end
end

-- Notes that a URL leaves work with no page: its number is free, its duplicates are to be seen.
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
  local relying = call('SMEMBERS', P .. K.relying .. text(id))
  call('DEL', P .. K.relying .. text(id))
  table.sort(relying, function(one, other)
    return tonumber(one) < tonumber(other)
  end)
  for _, name in ipairs(relying) do
    visit_again(tonumber(name), claim.number)
  end
end

-- Refuses a page because of one like it; what it was refused for before no longer counts.
local function refuse_anew(id, duplicate_of, holder, similarity)
  local before = find_refusal(id)
  if before and before.holder > 0 then
    call('SREM', P .. K.relying .. text(before.holder), text(id))
  end
  refuse(id, duplicate_of, holder)
  return done({ duplicate_of = duplicate_of, similarity = similarity })
end

-- Answers whoever has come with a page like one that is kept, or that somebody claims.
local function answer_duplicate(id, duplicate_of, holder, similarity)
  return refuse_anew(id, duplicate_of, holder, similarity)
end

-- Lets a URL wait again as if it had not been in progress.
local function wait_again(u, h)
  drop_claim(u.id)
  file(h, u)
end
