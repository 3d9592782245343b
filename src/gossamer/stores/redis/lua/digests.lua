-- The digests of contents: which page has a content, or claims it. Pages that are visited again are
-- not compared, so several may have the same; else there is one.

local digests = {}

local text = commands.text

-- Moment, page and holder.
local ENTRY, ENTRY_BYTES = '>dI5I5', 18

local function key_of(ctx, digest)
  return ctx.prefix .. K.digest .. digest
end

-- Returns the entries of all pages but one.
local function others(ctx, digest, page)
  local there, left = ctx.call('GET', key_of(ctx, digest)) or '', {}
  for first = 1, #there, ENTRY_BYTES do
    local _, one = struct.unpack(ENTRY, there, first)
    if one ~= page then
      left[#left + 1] = there:sub(first, first + ENTRY_BYTES - 1)
    end
  end
  return table.concat(left)
end

-- Returns the page that has a content, kept and not yet forgotten or only claimed, and who claims
-- it; nothing if it is new.
function digests.find(ctx, digest)
  local there, since = ctx.call('GET', key_of(ctx, digest)) or '', ctx.now - ctx.rules.keep_s
  for first = 1, #there, ENTRY_BYTES do
    local fetched, page, holder = struct.unpack(ENTRY, there, first)
    if holder > 0 or fetched > since then
      return page, holder
    end
  end
end

-- Notes that a page has a content, known for `left_ms` from now on; nil: for good.
function digests.put(ctx, digest, fetched, page, holder, left_ms)
  local key, packed = key_of(ctx, digest), struct.pack(ENTRY, fetched, page, holder)
  if ctx.rules.revisit_s < const.INF then
    local more = others(ctx, digest, page)
    if left_ms and #more > 0 then -- one of them may be claimed
      left_ms = left_ms + math.ceil(ctx.rules.lease_s * 1000)
    end
    packed = packed .. more
  end
  if left_ms then
    ctx.call('SET', key, packed, 'PX', text(left_ms))
  else
    ctx.call('SET', key, packed)
  end
end

-- Notes that a page does not have a content any more.
function digests.remove(ctx, digest, page)
  local left = others(ctx, digest, page)
  if #left == 0 then
    ctx.call('DEL', key_of(ctx, digest))
  else
    ctx.call('SET', key_of(ctx, digest), left, 'KEEPTTL')
  end
end

return digests
