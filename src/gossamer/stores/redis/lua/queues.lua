-- The priority queues: which scores belong to which.

local queues = {}

-- Returns where a queue begins, as a bound for the server's ranges.
function queues.low(ctx, queue)
  return ('%.17g'):format(const.MAX_SCORE * queue / ctx.rules.queues)
end

-- Returns the queue that a score belongs to, counted from 0.
function queues.of(ctx, score)
  local count = ctx.rules.queues
  local queue = math.min(math.floor(score * count / const.MAX_SCORE), count - 1)
  -- the borders are what division makes of them, not multiplication
  while queue > 0 and score < const.MAX_SCORE * queue / count do
    queue = queue - 1
  end
  while queue < count - 1 and score >= const.MAX_SCORE * (queue + 1) / count do
    queue = queue + 1
  end
  return queue
end

return queues
