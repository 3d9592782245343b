-- The sketches of pages: those that share a band at the same position are compared by their
-- samples.

local sketches = {}

local text = commands.text

local BAND_BYTES, NAME_BYTES = 8, 5

-- How a page is named in a band, and a URL in a sample; nobody claims a page that is kept.
local NAME, NOBODY = '>I5', '\0\0\0\0\0'

local function band_keys(ctx, bands)
  local keys, start = {}, ctx.prefix .. K.band
  for position = 1, #bands / BAND_BYTES do
    local band = bands:sub((position - 1) * BAND_BYTES + 1, position * BAND_BYTES)
    keys[position] = start .. string.char(position % 256) .. band
  end
  return keys
end

-- Keeps the sketch of a page that the URL claims.
function sketches.keep(ctx, page, id, bands, sample)
  local rules, name, longest_ms = ctx.rules, struct.pack(NAME, page), nil
  if not rules.given then
    longest_ms = text(math.min(math.ceil((rules.ttl_s + rules.lease_s) * 1000), const.LONGEST_MS))
  end
  for _, key in ipairs(band_keys(ctx, bands)) do
    if not longest_ms then
      ctx.call('APPEND', key, name)
    elseif not ctx.call('SET', key, name, 'NX', 'PX', longest_ms) then -- most bands are new
      ctx.call('APPEND', key, name)
      ctx.call('PEXPIRE', key, longest_ms)
    end
  end
  ctx.call('SET', ctx.prefix .. K.sample .. text(page), struct.pack(NAME, id) .. sample)
end

-- Forgets the sketch of a page that is not kept.
function sketches.forget(ctx, page, bands)
  local name = struct.pack(NAME, page)
  for _, key in ipairs(band_keys(ctx, bands)) do
    local there, left = ctx.call('GET', key) or '', {}
    for first = 1, #there, NAME_BYTES do
      local one = there:sub(first, first + NAME_BYTES - 1)
      if one ~= name then
        left[#left + 1] = one
      end
    end
    if #left == 0 then
      ctx.call('DEL', key)
    elseif #left * NAME_BYTES < #there then
      ctx.call('SET', key, table.concat(left), 'KEEPTTL')
    end
  end
  ctx.call('DEL', ctx.prefix .. K.sample .. text(page))
end

-- Notes that a page is kept: nobody claims it any more, and it is forgotten in its time.
function sketches.settle(ctx, page, left_ms)
  local key = ctx.prefix .. K.sample .. text(page)
  ctx.call('SETRANGE', key, '0', NOBODY)
  if left_ms then
    ctx.call('PEXPIRE', key, text(left_ms))
  end
end

-- Returns the pages that share a band with these, those that share most of them first.
local function sharing(ctx, bands)
  local shared, found = {}, {}
  local from = text(-NAME_BYTES * const.MAX_SHARING)
  for _, key in ipairs(band_keys(ctx, bands)) do
    local there = ctx.call('GETRANGE', key, from, '-1')
    for first = 1, #there - #there % NAME_BYTES, NAME_BYTES do
      local page = struct.unpack(NAME, there, first)
      if not shared[page] then
        found[#found + 1] = page
      end
      shared[page] = (shared[page] or 0) + 1
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

-- Returns how much the bytes of one sample have in common with another, which stands behind the
-- name of its URL; 0 as soon as that is less than wanted, as it is with most.
local function estimated_similarity(one, other, wanted)
  local size, same = #one, 0
  local spare = size - math.floor(size * (wanted * (1 - 1 / 256) + 1 / 256)) + 1
  for first = 1, size, 64 do
    local last = math.min(first + 63, size)
    local theirs = { other:byte(first + NAME_BYTES, last + NAME_BYTES) }
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

-- Returns the most similar page that is claimed, or kept and not yet forgotten: its number, who
-- claims it, and how similar it is.
function sketches.most_similar(ctx, bands, sample)
  local pages = sharing(ctx, bands)
  if #pages == 0 then
    return nil
  end
  local mine, best, holder, most = { sample:byte(1, -1) }, nil, 0, ctx.rules.similarity
  for i = 1, math.min(#pages, const.MAX_CANDIDATES) do
    local page = pages[i]
    local theirs = ctx.call('GET', ctx.prefix .. K.sample .. text(page))
    local kept = theirs and ctx.call('HGET', ctx.prefix .. K.pages, text(page))
    local fetched = kept and struct.unpack('>d', kept) or ctx.now
    if theirs and #theirs == #mine + NAME_BYTES and fetched > ctx.now - ctx.rules.ttl_s then
      local similarity = estimated_similarity(mine, theirs, most)
      if similarity > most or (similarity == most and (not best or page < best)) then
        best, most = page, similarity
        holder = struct.unpack(NAME, theirs)
      end
    end
  end
  return best, holder, most
end

return sketches
