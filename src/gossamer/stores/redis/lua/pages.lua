-- The pages and their contents, each kept for its time; and the credit that a page shares.

local pages = {}

local text = commands.text

-- Keeps the page that a URL has claimed, or another version of the page that it has.
function pages.keep(ctx, u, claim, fetched, note, content)
  local rules, name, left_ms = ctx.rules, text(claim.page), nil
  ctx.call('HSET', ctx.prefix .. K.pages, name, struct.pack('>dI5', fetched, u.id) .. note)
  if rules.given or rules.keep_s == const.INF then
    ctx.call('SET', ctx.prefix .. K.content .. name, content)
  else
    left_ms = math.max(1, math.ceil((fetched + rules.keep_s - ctx.now) * 1000))
    ctx.call('SET', ctx.prefix .. K.content .. name, content, 'PX', text(left_ms))
  end
  if rules.given then
    ctx.call('ZADD', ctx.prefix .. K.kept, fetched, name)
  end
  claims.fulfil(ctx, u.id, claim, fetched, left_ms)
end

-- Forgets some of the contents whose time is over, where the server does not do so by itself;
-- returns how many.
function pages.expire(ctx)
  local key, before = ctx.prefix .. K.kept, ctx.now - ctx.rules.keep_s
  local most = text(const.EXPIRED_AT_ONCE)
  local expired = ctx.call('ZRANGEBYSCORE', key, '-inf', before, 'LIMIT', '0', most)
  for _, name in ipairs(expired) do
    ctx.call('DEL', ctx.prefix .. K.content .. name, ctx.prefix .. K.sample .. name)
    ctx.call('ZREM', key, name)
  end
  return #expired
end

-- Shares a page's credit among the other domains that it links to: names and counts in turn.
function pages.share_credit(ctx, own, linked)
  local counts, total, names, links_to, out = ctx.counts, 0, {}, {}, {}
  for i = 1, #linked, 2 do
    if linked[i] ~= own then
      names[#names + 1] = linked[i]
      links_to[#names] = linked[i + 1]
      total = total + linked[i + 1]
    end
  end
  local credits = commands.get_many(ctx, ctx.prefix .. K.credits, names)
  for i = 1, #names do
    local credit = tonumber(credits[i] or 0) + links_to[i] / total
    out[#out + 1] = names[i]
    out[#out + 1] = credit
    counts.credit = math.max(counts.credit, credit)
  end
  commands.write(ctx, 'HSET', ctx.prefix .. K.credits, out)
end

return pages
