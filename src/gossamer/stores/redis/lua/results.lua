-- The log of results: a list, in which the place of a result is its number. It only grows.

local results = {}

local text = commands.text

-- URL, page (0: none was kept) and moment; the records follow.
local HEAD = '>I5I5d'

local AT_ONCE = 1000

-- Appends what came of a URL, if it is a page, records or a row.
function results.append(ctx, u, page, records, row)
  if page == 0 and records == '' and row == '' then
    return
  end
  local packed = struct.pack(HEAD, u.id, page, ctx.now) .. records
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

-- Forgets rows up to a number, some at a time; returns whether any may be left.
function results.drop_rows(ctx, upto)
  local counts, names = ctx.counts, {}
  local last = math.min(upto, ctx.call('LLEN', ctx.prefix .. K.results))
  local to = math.min(last, counts.rows_dropped + AT_ONCE)
  for number = counts.rows_dropped + 1, to do
    names[#names + 1] = ctx.prefix .. K.row .. text(number)
  end
  if #names > 0 then
    ctx.call('UNLINK', unpack(names))
    counts.rows_dropped = to
  end
  return counts.rows_dropped < last
end

-- Forgets some of the rows whose time is over, where the server does not do so by itself.
function results.expire(ctx)
  local first = ctx.counts.rows_dropped
  local oldest = ctx.call(
    'LRANGE', ctx.prefix .. K.results, text(first), text(first + const.EXPIRED_AT_ONCE - 1)
  )
  for i, packed in ipairs(oldest) do
    local _, _, settled_at = struct.unpack(HEAD, packed)
    if settled_at > ctx.now - ctx.rules.keep_s then
      break
    end
    results.drop_rows(ctx, first + i)
  end
end

return results
