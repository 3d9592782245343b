-- The sketches of pages: those that share a band at the same position are compared by their
-- samples, and those that are similar by the samples of their own contents as well.

local sketches = {}

local text = commands.text

local BAND_BYTES, NAME_BYTES = 8, 5

-- How a page is named in a band, and a URL in a sample; nobody claims a page that is kept.
local NAME, NOBODY = '>I5', '\0\0\0\0\0'

-- What stands before a sample: who claims the page, and how long the sample is. Behind it stands
-- the sample of its own content, after a byte; nothing if that was not read so far.
local HEAD, HEAD_BYTES = '>I5I2', 7
local READ = '+'

-- So many bytes a band may take, and so many are left of a longer one: more pages than are compared.
local MOST_BYTES, TRIMMED_BYTES = 4 * NAME_BYTES * const.MAX_SHARING, 2 * NAME_BYTES * const.MAX_SHARING

local function band_keys(ctx, bands)
  local keys, start = {}, ctx.prefix .. K.band
  for position = 1, #bands / BAND_BYTES do
    local band = bands:sub((position - 1) * BAND_BYTES + 1, position * BAND_BYTES)
    keys[position] = start .. string.char(position % 256) .. band
  end
  return keys
end

local function add_to_band(ctx, key, name, longest_ms)
  if ctx.call('APPEND', key, name) > MOST_BYTES then
    ctx.call('SET', key, ctx.call('GETRANGE', key, text(-TRIMMED_BYTES), '-1'), 'KEEPTTL')
  end
  if longest_ms then
    ctx.call('PEXPIRE', key, longest_ms)
  end
end

-- Keeps the sketch of a page that the URL claims; 0: nobody does. Its sample is forgotten after
-- `left_ms`; nil: when the page is.
function sketches.keep(ctx, page, id, bands, sample, own, left_ms)
  local rules, name, longest_ms = ctx.rules, struct.pack(NAME, page), nil
  if not rules.given and rules.keep_s < const.INF then
    longest_ms = text(math.ceil((rules.keep_s + rules.lease_s) * 1000))
  end
  local new = {}
  for _, key in ipairs(band_keys(ctx, bands)) do
    local is_new = ctx.bands[key] == false -- as most are
    if is_new and longest_ms then
      ctx.call('SET', key, name, 'PX', longest_ms)
    elseif is_new then
      new[#new + 1] = key
      new[#new + 1] = name
    else
      add_to_band(ctx, key, name, longest_ms)
    end
  end
  if #new > 0 then
    ctx.call('MSET', unpack(new))
  end
  local packed = struct.pack(HEAD, id, #sample) .. sample .. (own and READ .. own or '')
  if left_ms then
    ctx.call('SET', ctx.prefix .. K.sample .. text(page), packed, 'PX', text(left_ms))
  else
    ctx.call('SET', ctx.prefix .. K.sample .. text(page), packed)
  end
end

-- Keeps the sample of the own content of a kept page, if it has a sketch.
function sketches.keep_own(ctx, page, own)
  local key = ctx.prefix .. K.sample .. text(page)
  local packed = ctx.call('GET', key)
  if packed then
    local _, size = struct.unpack(HEAD, packed)
    ctx.call('SET', key, packed:sub(1, HEAD_BYTES + size) .. READ .. own, 'KEEPTTL')
  end
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
  local shared, found, keys = {}, {}, band_keys(ctx, bands)
  local read = ctx.call('MGET', unpack(keys))
  for i = 1, #keys do
    local there = read[i] or ''
    ctx.bands[keys[i]] = #there > 0
    local most = NAME_BYTES * const.MAX_SHARING
    for first = math.max(1, #there - most + 1), #there - #there % NAME_BYTES, NAME_BYTES do
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

-- Returns how much the bytes of one sample have in common with another, which stands behind so
-- many bytes; 0 as soon as that is less than wanted, as it is with most.
local function estimated_similarity(one, other, before, wanted)
  local size, same = #one, 0
  local spare = size - math.floor(size * (wanted * (1 - 1 / 256) + 1 / 256)) + 1
  for first = 1, size, 64 do
    local last = math.min(first + 63, size)
    local theirs = { other:byte(first + before, last + before) }
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

-- Returns the pages that are claimed, or kept and not yet forgotten, whose text is similar: the most
-- similar ones first.
local function alike(ctx, bands, sample)
  local pages, found = sharing(ctx, bands), {}
  if #pages == 0 then
    return found
  end
  local mine, least = { sample:byte(1, -1) }, ctx.rules.similarity
  for i = 1, math.min(#pages, const.MAX_CANDIDATES) do
    local page = pages[i]
    local theirs = ctx.call('GET', ctx.prefix .. K.sample .. text(page))
    local kept = theirs and ctx.call('HGET', ctx.prefix .. K.pages, text(page))
    local fetched = kept and struct.unpack('>d', kept) or ctx.now
    if theirs and fetched > ctx.now - ctx.rules.keep_s then
      local holder, size = struct.unpack(HEAD, theirs)
      local similarity = size == #mine and estimated_similarity(mine, theirs, HEAD_BYTES, least) or 0
      if similarity >= least then
        local own = #theirs > HEAD_BYTES + size and theirs:sub(HEAD_BYTES + size + 2) or nil
        found[#found + 1] = { page = page, holder = holder, similarity = similarity, own = own }
      end
    end
  end
  table.sort(found, function(one, other)
    if one.similarity ~= other.similarity then
      return one.similarity > other.similarity
    end
    return one.page < other.page
  end)
  return found
end

-- Returns the most similar page, who claims it, and how similar text and own content are; or the
-- pages whose own contents have to be known first. `own` is the sample of this page's, once read.
function sketches.most_similar(ctx, bands, sample, own)
  local found = alike(ctx, bands, sample)
  if #found > 0 and not own then
    local unread = { const.THIS_PAGE }
    for _, one in ipairs(found) do
      if not one.own and #unread <= const.MAX_UNREAD then
        unread[#unread + 1] = one.page
      end
    end
    return nil, unread
  end
  local mine, least = { (own or ''):byte(1, -1) }, ctx.rules.similarity
  for _, one in ipairs(found) do
    if one.own and #one.own > 0 and #one.own == #mine then
      local similarity = estimated_similarity(mine, one.own, 0, least)
      if similarity >= least then
        one.own_similarity = similarity
        return one
      end
    end
  end
end

return sketches
