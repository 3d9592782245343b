-- Which pages are similar to one another: those that share a band at the same position are
-- compared.

local NUMBER, NOBODY = '>I5', '\0\0\0\0\0'

local function band_keys(bands)
  local keys = {}
  for position = 1, #bands / 8 do
    local band = string.sub(bands, position * 8 - 7, position * 8)
    keys[position] = P .. K.band .. string.char(position % 256) .. band
  end
  return keys
end

local function keep_sketch(number, id, bands, sample)
  for _, key in ipairs(band_keys(bands)) do
    call('APPEND', key, struct.pack(NUMBER, number))
    if not R.given then
      call('PEXPIRE', key, math.min(math.ceil((R.ttl_s + R.lease_s) * 1000), const.LONGEST_MS))
    end
  end
  call('SET', P .. K.sample .. text(number), struct.pack(NUMBER, id) .. sample)
end

local function forget_sketch(number, bands)
  local name = struct.pack(NUMBER, number)
  for _, key in ipairs(band_keys(bands)) do
    local there, left = call('GET', key) or '', {}
    for first = 1, #there, 5 do
      local one = string.sub(there, first, first + 4)
      if one ~= name then
        left[#left + 1] = one
      end
    end
    if #left == 0 then
      call('DEL', key)
    elseif #left * 5 < #there then
      call('SET', key, table.concat(left), 'KEEPTTL')
    end
  end
  call('DEL', P .. K.sample .. text(number))
end

-- Notes that a page is kept: nobody claims it any more, and it is forgotten in its time.
local function settle_sketch(number, left_ms)
  call('SETRANGE', P .. K.sample .. text(number), '0', NOBODY)
  if left_ms then
    call('PEXPIRE', P .. K.sample .. text(number), text(left_ms))
  end
end

-- Returns the pages that share a band with these, those that share most of them first.
local function sharing(bands)
  local shared, found = {}, {}
  for _, key in ipairs(band_keys(bands)) do
    local there = call('GETRANGE', key, -5 * const.MAX_SHARING, -1)
    for first = 1, #there - #there % 5, 5 do
      local number = struct.unpack(NUMBER, there, first)
      if not shared[number] then
        found[#found + 1] = number
      end
      shared[number] = (shared[number] or 0) + 1
    end
  end
  table.sort(found, function(one, other)
    if shared[one] ~= shared[other] then
      return shared[one] > shared[other]
    end
    return one < other
  end)
  return found
end

-- Returns how much the bytes of one sample have in common with another, which stands from its
-- sixth byte on; 0 as soon as that is less than wanted, as it is with most.
local function estimated_similarity(one, other, wanted)
  local size, same = #one, 0
  local spare = size - math.floor(size * (wanted * (1 - 1 / 256) + 1 / 256)) + 1
  for first = 1, size, 64 do
    local theirs = { string.byte(other, first + 5, math.min(first + 68, size + 5)) }
    for i = 1, #theirs do
      if one[first + i - 1] == theirs[i] then
        same = same + 1
      end
    end
    if first - 1 + #theirs - same > spare then
      return 0
    end
  end
  return math.max(0, (same / size - 1 / 256) / (1 - 1 / 256))
end

-- Returns the most similar page that is claimed, or kept and not yet forgotten.
local function most_similar(bands, sample)
  local mine, best, holder, most = { string.byte(sample, 1, -1) }, nil, 0, R.similarity
  for i, number in ipairs(sharing(bands)) do
    if i > const.MAX_CANDIDATES then
      break
    end
    local theirs = call('GET', P .. K.sample .. text(number))
    local page = theirs and call('HGET', P .. K.pages, text(number))
    local fetched = page and struct.unpack('>d', page) or now
    if theirs and #theirs == #mine + 5 and fetched > now - R.ttl_s then
      local one = estimated_similarity(mine, theirs, most)
      if one > most or (one == most and (not best or number < best)) then
        best, most = number, one
        holder = struct.unpack(NUMBER, theirs)
      end
    end
  end
  return best, holder, most
end
