-- Answers the first URLs of the URL queue, with the credit of their domains.

steps.repeatable('candidates', function(ctx, message)
  if scheduler.must_wait_for_order(ctx) then
    return { ctx.counts.credit, {} }
  end
  local ids = ctx.call('ZRANGE', ctx.prefix .. K.url_queue, '0', commands.text(message[1] - 1))
  local packed = commands.get_many(ctx, ctx.prefix .. K.urls, ids)
  local out, credits = {}, {}
  for i, id in ipairs(ids) do
    if urls.is_sound(packed[i]) then
      local u = urls.read(ctx, tonumber(id), packed[i])
      local h = hosts.get(ctx, u.hid)
      local credit = credits[h.domain] or ctx.call('HGET', ctx.prefix .. K.credits, h.domain) or 0
      credits[h.domain] = tonumber(credit)
      out[#out + 1] = {
        u.id, u.url, h.name, h.domain, u.depth, credits[h.domain], urls.listing(ctx, u),
        urls.given_score(ctx, u),
      }
    else
      urls.quarantine(ctx, id, packed[i])
    end
  end
  return { ctx.counts.credit, out }
end)
