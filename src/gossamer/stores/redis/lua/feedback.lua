-- How long a host rests after a request.

local function watch_slow(h)
  if h.requests % 8 ~= 1 then
    return
  end
  call('ZADD', P .. K.slow, h.took / h.requests, h.hid)
  if call('ZCARD', P .. K.slow) > 2 * const.SLOW_HOSTS then
    call('ZREMRANGEBYRANK', P .. K.slow, 0, -const.SLOW_HOSTS - 1)
  end
end

local function note_request(h, feedback, ended)
  h.requests = h.requests + 1
  h.took = h.took + feedback.took_s
  if feedback.failed then
    h.failed = h.failed + 1
  end
  if not feedback.failed then
    h.failures, h.unanswered = 0, 0
  elseif ended - feedback.took_s >= h.failed_at then
    -- what was on its way together fails together, and counts as one
    h.failures = h.failures + 1
    h.unanswered = feedback.answered and 0 or h.unanswered + 1
    h.failed_at = ended
  end
end

-- Takes a visit down and returns the host's next moment after it.
local function rested(h, feedback)
  local ended = feedback.ended + offset
  note_request(h, feedback, ended)
  if feedback.crawl_delay_s then
    h.crawl_delay = feedback.crawl_delay_s
  end
  watch_slow(h)
  touch(h)
  local pause = delay(h)
  local rest = pause > 0 and math.max(pause, math.min(feedback.took_s, const.MAX_BACK_OFF_S)) or 0
  if h.failures > 0 then
    local back_off = math.max(pause, 0.5) * 2 ^ math.min(h.failures - 1, 20)
    rest = math.max(rest, math.min(back_off, const.MAX_BACK_OFF_S))
  end
  if feedback.retry_after_s then
    rest = math.max(rest, math.min(math.max(feedback.retry_after_s, 0), const.MAX_RETRY_AFTER_S))
  end
  return ended + rest
end

local function is_hopeless(h)
  return h.unanswered >= const.HOPELESS_AFTER or h.failures >= const.HOPELESS_AFTER_REFUSALS
end
