-- Answers the counters.

-- Returns what has ended the crawl; nil while it goes on.
local function ended_by(ctx, waiting)
  if ctx.counts.in_progress > 0 or ctx.counts.relaxing > 0 or ctx.counts.unadded > 0 then
    return nil
  elseif waiting > 0 or ctx.counts.reading > 0 then
    return leases.exhausted_by(ctx, 0)
  end
  return 'complete'
end

steps.reading('snapshot', function(ctx)
  local counts = ctx.counts
  local gaps = ctx.call('ZRANGE', ctx.prefix .. K.free, '0', '-1')
  for i, number in ipairs(gaps) do
    gaps[i] = tonumber(number)
  end
  local outcomes, all = {}, ctx.call('HGETALL', ctx.prefix .. K.outcomes)
  for i = 1, #all, 2 do
    outcomes[#outcomes + 1] = { all[i], tonumber(all[i + 1]) }
  end
  local waiting = counts.unscored + counts.queued + counts.assigned
  return {
    waiting = waiting, in_progress = counts.in_progress, pages = counts.pages,
    visits = counts.visits, bytes = counts.bytes, received = counts.received,
    listed = counts.listed, over_host_urls = counts.over_host_urls, hosts = counts.met,
    ended_by = ended_by(ctx, waiting), resting_s = math.max(0, counts.unsure - ctx.now),
    relaxing = counts.relaxing > 0 or counts.unadded > 0,
    outcomes = outcomes, last_page = counts.page, gaps = gaps, quarantined = counts.broken,
  }
end)
