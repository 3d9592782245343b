-- Lets failed URLs wait again, of some from an id on; answers how many there were, and from which id
-- on to ask again, or 0. Their hosts are asked again, however often they have failed.

local function set_of(list)
  local set = {}
  for _, one in ipairs(list) do
    set[one] = true
  end
  return set
end

steps.once('retry_failed', function(ctx, message)
  local outcomes, names, first = set_of(message[1]), set_of(message[2]), message[3]
  local last = math.min(first + const.RETRIED_AT_ONCE - 1, ctx.counts.urls)
  local ids, retried = {}, 0
  for id = first, last do
    ids[#ids + 1] = commands.text(id)
  end
  local packed = commands.get_many(ctx, ctx.prefix .. K.urls, ids)
  for i = 1, #ids do
    -- a record that nobody can read is left for those who would notice
    local u = urls.is_sound(packed[i]) and urls.read(ctx, first + i - 1, packed[i])
    if u and u.state == const.DONE and outcomes[urls.outcome(u)] then
      local h = hosts.get(ctx, u.hid)
      if #message[2] == 0 or names[h.name] then
        urls.reopen(ctx, u)
        h.failures, h.unanswered = 0, 0
        hosts.change(ctx, h)
        retried = retried + 1
      end
    end
  end
  return { retried, last < ctx.counts.urls and last + 1 or 0 }
end)
