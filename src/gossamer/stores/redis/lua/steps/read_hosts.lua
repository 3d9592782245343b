-- Answers the hosts with most to do, and the slowest ones, at most so many of each.

-- Returns hosts that have something to do: all that are leased, then as many others as wanted.
local function busy_hosts(ctx, limit)
  local seen, list = {}, {}

  local function see(hid)
    if not seen[hid] then
      seen[hid] = true
      list[#list + 1] = hosts.get(ctx, hid)
    end
  end

  for hid in pairs((leases.holders(ctx))) do
    see(hid)
  end
  local sources = { { 'ZRANGE', K.parked }, { 'ZRANGE', K.agenda .. commands.text(const.ANYONE) } }
  for _, worker in ipairs(ctx.call('ZRANGE', ctx.prefix .. K.seen, 0, limit - 1)) do
    sources[#sources + 1] = { 'ZRANGE', K.agenda .. worker }
    sources[#sources + 1] = { 'ZRANGE', K.unproven .. worker }
  end
  for queue = 0, ctx.rules.queues - 1 do
    sources[#sources + 1] = { 'LRANGE', K.ring .. queue }
  end
  for _, source in ipairs(sources) do
    if #list >= limit then
      break
    end
    for _, hid in ipairs(ctx.call(source[1], ctx.prefix .. source[2], 0, limit - 1)) do
      see(tonumber(hid))
    end
  end
  return list
end

steps.reading('read_hosts', function(ctx, message)
  local limit = message[1]
  local list, out, shown = busy_hosts(ctx, limit), {}, {}
  table.sort(list, function(one, other)
    if one.in_progress ~= other.in_progress then
      return one.in_progress > other.in_progress
    elseif one.waiting ~= other.waiting then
      return one.waiting > other.waiting
    end
    return one.hid < other.hid
  end)

  local function show(h)
    if not shown[h.hid] then
      shown[h.hid] = true
      out[#out + 1] = {
        host = h.name, waiting = h.waiting, in_progress = h.in_progress, pages = h.pages,
        failures = h.failed, next_in_s = h.next - ctx.now,
        delay_s = hosts.delay(ctx, h),
        mean_ms = h.requests > 0 and h.took / h.requests * 1000 or 0,
      }
    end
  end

  for i = 1, math.min(limit, #list) do
    show(list[i])
  end
  for _, hid in ipairs(ctx.call('ZREVRANGE', ctx.prefix .. K.slow, 0, limit - 1)) do
    show(hosts.get(ctx, tonumber(hid)))
  end
  return out
end)
