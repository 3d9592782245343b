-- What a visit tells about its host, and how long the host rests after it.

local feedback = {}

-- Every eighth request shows whether the host is one of the slowest.
local function watch_slow(ctx, h)
  if h.requests % 8 ~= 1 then
    return
  end
  local key = ctx.prefix .. K.slow
  ctx.call('ZADD', key, h.took / h.requests, h.key)
  if ctx.call('ZCARD', key) > 2 * const.SLOW_HOSTS then
    ctx.call('ZREMRANGEBYRANK', key, 0, -const.SLOW_HOSTS - 1)
  end
end

local function note_request(h, told, ended)
  h.requests = h.requests + 1
  h.took = h.took + told.took_s
  if not told.failed then
    h.failures, h.unanswered = 0, 0
    return
  end
  h.failed = h.failed + 1
  if ended - told.took_s >= h.failed_at then
    -- what was on its way together fails together, and counts as one
    h.failures = h.failures + 1
    h.unanswered = told.answered and 0 or h.unanswered + 1
    h.failed_at = ended
  end
end

-- Notes how long the host's pause should be by this request, as in policy/auto_delay.py.
local function adapt_delay(ctx, h, told)
  local floor = host_limits.of(ctx, h.name).delay_s
  local ceiling = math.max(const.MAX_AUTO_DELAY_S, floor)
  local pause = math.min(hosts.delay(ctx, h), ceiling)
  if told.overloaded then
    pause = pause * 2
  elseif told.took_s > 0 and not told.failed then
    local wanted = const.PAUSE_PER_ANSWER * told.took_s
    pause = pause + (wanted > pause and const.RISE or const.FALL) * (wanted - pause)
  end
  h.delay = math.min(math.max(pause, floor), ceiling)
end

-- Notes what a visit told, and returns when the host may be asked again.
function feedback.take(ctx, h, told)
  local ended = told.ended + ctx.offset
  note_request(h, told, ended)
  if told.crawl_delay_s then
    h.crawl_delay = told.crawl_delay_s
  end
  if host_limits.of(ctx, h.name).auto_delay then
    adapt_delay(ctx, h, told)
  end
  watch_slow(ctx, h)
  hosts.change(ctx, h)
  local pause = hosts.least_delay(ctx, h)
  local rest = pause > 0 and math.max(pause, math.min(told.took_s, const.MAX_BACK_OFF_S)) or 0
  if h.failures > 0 then
    local back_off = math.max(pause, 0.5) * 2 ^ math.min(h.failures - 1, 20)
    rest = math.max(rest, math.min(back_off, const.MAX_BACK_OFF_S))
  end
  if told.retry_after_s then
    rest = math.max(rest, math.min(math.max(told.retry_after_s, 0), const.MAX_RETRY_AFTER_S))
  end
  return ended + math.max(rest, hosts.delay(ctx, h))
end

return feedback
