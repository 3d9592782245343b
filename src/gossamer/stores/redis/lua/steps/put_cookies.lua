-- Changes the cookies of a registered domain, as stores/cookies.py does: a list of keys and lines,
-- those that were set last at the end. `message`: the domain, what is kept, and which keys are
-- dropped.

-- Returns the cookies with the changes, and no more of them than a domain may have.
local function changed(jar, kept, dropped)
  local gone, all, out = {}, {}, {}
  for _, key in ipairs(dropped) do
    gone[key] = true
  end
  for _, one in ipairs(kept) do
    gone[one[1]] = true
  end
  for _, one in ipairs(jar) do
    if not gone[one[1]] then
      all[#all + 1] = one
    end
  end
  for _, one in ipairs(kept) do
    all[#all + 1] = one
  end
  for i = math.max(1, #all - const.MAX_COOKIES + 1), #all do
    out[#out + 1] = all[i]
  end
  return out
end

steps.repeatable('put_cookies', function(ctx, message)
  local notes, name = ctx.prefix .. K.notes, const.COOKIES_NOTE .. message[1]
  local before = ctx.call('HGET', notes, name)
  local domains = tonumber(ctx.call('HGET', notes, const.COOKIE_DOMAINS_NOTE) or 0)
  local jar = changed(before and cmsgpack.unpack(before) or {}, message[2], message[3])
  if #jar > 0 and (before or domains < const.MAX_COOKIE_DOMAINS) then
    ctx.call('HSET', notes, name, cmsgpack.pack(jar))
    domains = before and domains or domains + 1
  elseif before then
    ctx.call('HDEL', notes, name)
    domains = domains - 1
  end
  ctx.call('HSET', notes, const.COOKIE_DOMAINS_NOTE, commands.text(domains))
  return true
end)
