-- Answers the workers that take part, by number, with what each has to do and has told last.

-- Returns for each worker how many URLs it works on, and of which hosts.
local function work_of_each(ctx)
  local work = {}
  leases.each(ctx, function(_, lease)
    local mine = work[lease.worker] or { urls = 0, hosts = {} }
    mine.urls = mine.urls + 1
    mine.hosts[lease.hid] = true
    work[lease.worker] = mine
  end)
  return work
end

local function count_hosts(ctx, worker, working_on)
  local key = ctx.prefix .. K.served .. worker
  local count = ctx.call('SCARD', key)
  for hid in pairs(working_on) do
    if ctx.call('SISMEMBER', key, commands.text(hid)) == 0 then
      count = count + 1
    end
  end
  return count
end

steps.reading('read_workers', function(ctx)
  local out, work = {}, work_of_each(ctx)
  -- those that have ended in order are as good as silent since ever
  local seen = ctx.call('ZRANGEBYSCORE', ctx.prefix .. K.seen, '(0', '+inf', 'WITHSCORES')
  for i = 1, #seen, 2 do
    local mine = work[tonumber(seen[i])] or { urls = 0, hosts = {} }
    local silent_s = ctx.now - tonumber(seen[i + 1])
    local report = ctx.call('HGET', ctx.prefix .. K.reports, seen[i])
    out[#out + 1] = {
      number = tonumber(seen[i]), hosts = count_hosts(ctx, seen[i], mine.hosts),
      in_progress = mine.urls, silent_s = silent_s,
      dead_in_s = ctx.rules.lease_s - silent_s,
      report = report and cmsgpack.unpack(report) or nil,
    }
  end
  table.sort(out, function(one, other)
    return one.number < other.number
  end)
  return out
end)
