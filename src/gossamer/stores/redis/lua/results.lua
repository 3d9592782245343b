-- The log of results: a list, in which the place of a result is its number. It only grows.

local results = {}

local text = commands.text

-- URL, page (0: none was kept), moment and part; the records follow.
local HEAD = '>I5I5dI2'
local HEAD_BYTES = 20

-- The array of no records: modules gave something, which is nobody else's business.
local SOME_RECORDS = '\144'

local AT_ONCE = 1000

local function part_of(packed)
  return struct.unpack('>I2', packed, HEAD_BYTES - 1)
end

-- Appends what came of a URL, if it is a page, records or a row.
function results.append(ctx, u, page, records, row, part)
  if page == 0 and records == '' and row == '' then
    return
  end
  local packed = struct.pack(HEAD, u.id, page, ctx.now, part) .. records
  local number = ctx.call('RPUSH', ctx.prefix .. K.results, packed)
  if row == '' then
    return
  end
  local key, keep_s = ctx.prefix .. K.row .. text(number), ctx.rules.keep_s
  if keep_s == const.INF or ctx.rules.given then
    ctx.call('SET', key, row)
  else -- it can be made again only for as long as the page is kept
    ctx.call('SET', key, row, 'PX', text(math.max(1, math.ceil(keep_s * 1000))))
  end
end

-- Returns results after a number, as whoever wants one part sees them (stores/results.py).
function results.of_part(call, prefix, after, limit, part)
  local found = call('LRANGE', prefix .. K.results, text(after), text(after + limit - 1))
  for i, packed in ipairs(found) do
    if part_of(packed) ~= part then
      found[i] = packed:sub(1, HEAD_BYTES) .. (#packed > HEAD_BYTES and SOME_RECORDS or '')
    end
  end
  return found
end

-- Returns up to which result the rows of a part were dropped, and what notes that.
local function dropped_rows(ctx, part)
  if part == 0 then
    return ctx.counts.rows_dropped, function(number)
      ctx.counts.rows_dropped = number
    end
  end
  local key, name = ctx.prefix .. K.notes, const.PART_ROWS_NOTE .. text(part)
  return tonumber(ctx.call('HGET', key, name) or 0), function(number)
    ctx.call('HSET', key, name, text(number))
  end
end

-- Forgets the rows of some results, from a number on.
local function forget(ctx, first, some, is_meant)
  local names = {}
  for i, packed in ipairs(some) do
    if is_meant(packed) then
      names[#names + 1] = ctx.prefix .. K.row .. text(first + i - 1)
    end
  end
  if #names > 0 then
    ctx.call('UNLINK', unpack(names))
  end
end

-- Forgets the rows of a part up to a number, some at a time; returns whether any may be left.
function results.drop_rows(ctx, upto, part)
  local key = ctx.prefix .. K.results
  local done, note = dropped_rows(ctx, part)
  local last = math.min(upto, ctx.call('LLEN', key))
  local to = math.min(last, done + AT_ONCE)
  if to <= done then
    return false
  end
  forget(ctx, done + 1, ctx.call('LRANGE', key, text(done), text(to - 1)), function(packed)
    return part_of(packed) == part
  end)
  note(to)
  return to < last
end

-- Forgets some of the rows whose time is over, where the server does not do so by itself.
function results.expire(ctx)
  local first, old = ctx.counts.rows_dropped, {}
  local oldest = ctx.call(
    'LRANGE', ctx.prefix .. K.results, text(first), text(first + const.EXPIRED_AT_ONCE - 1)
  )
  for i, packed in ipairs(oldest) do
    local _, _, settled_at = struct.unpack(HEAD, packed)
    if settled_at > ctx.now - ctx.rules.keep_s then
      break
    end
    old[i] = packed
  end
  forget(ctx, first + 1, old, function()
    return true
  end)
  ctx.counts.rows_dropped = first + #old
end

return results
