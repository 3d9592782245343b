-- The workers: who takes part, how long the queue of each is, and how much it has to do: what is in
-- progress counts as well, as a worker that hangs has it for long. The URLs of shared hosts are in
-- one more queue, of const.ANYONE, from which each worker takes its share.

local workers = {}

-- Workers are named so that of those with equally much to do the first one comes first.
local function pad(worker)
  return ('%012d'):format(worker)
end

-- Lets a worker take part, or notes that it still does.
function workers.join(ctx, worker)
  if ctx.call('ZADD', ctx.prefix .. K.loads, 'NX', '0', pad(worker)) == 1 then
    ctx.call('HSET', ctx.prefix .. K.queue_lengths, commands.text(worker), '0')
  end
  ctx.call('ZADD', ctx.prefix .. K.seen, 'GT', ctx.now, commands.text(worker))
  ctx.counts.closed = const.AT_WORK
end

-- Forgets a worker that has nothing any more.
function workers.forget(ctx, worker)
  local name = commands.text(worker)
  ctx.queue_lengths[worker], ctx.queue_growth[worker] = false, nil
  ctx.call('ZREM', ctx.prefix .. K.loads, pad(worker))
  ctx.call('HDEL', ctx.prefix .. K.queue_lengths, name)
  ctx.call('ZREM', ctx.prefix .. K.seen, name)
  ctx.call('HDEL', ctx.prefix .. K.reports, name)
  ctx.call('HDEL', ctx.prefix .. K.trying, name)
  ctx.call('DEL', ctx.prefix .. K.shares .. name)
end

-- Returns the length of a worker's queue; false if the worker does not take part.
function workers.queue_length(ctx, worker)
  if worker == const.ANYONE then
    return ctx.counts.common
  end
  local length = ctx.queue_lengths[worker]
  if length == nil then
    length = ctx.call('HGET', ctx.prefix .. K.queue_lengths, commands.text(worker))
    length = length and tonumber(length) + (ctx.queue_growth[worker] or 0)
    ctx.queue_lengths[worker] = length
  end
  return length
end

-- Tells whether anybody takes part.
function workers.are_there(ctx)
  return ctx.call('EXISTS', ctx.prefix .. K.loads) == 1
end

-- Returns the worker with the least to do whose queue has room; nil: no queue has.
function workers.least_loaded(ctx)
  local key = ctx.prefix .. K.loads
  local first = ctx.call('ZRANGE', key, '0', '0')[1]
  if first and workers.space(ctx, tonumber(first)) > 0 then
    return tonumber(first)
  end
  for _, name in ipairs(ctx.call('ZRANGE', key, '1', '-1')) do
    if workers.space(ctx, tonumber(name)) > 0 then
      return tonumber(name)
    end
  end
  return nil
end

-- Returns how many more URLs fit into a worker's queue.
function workers.space(ctx, worker)
  local most = ctx.rules.worker_queue
  return most - (workers.queue_length(ctx, worker) or most)
end

-- Counts URLs in the queue of a worker.
function workers.lengthen_queue(ctx, worker, count)
  if worker == const.ANYONE then
    ctx.counts.common = ctx.counts.common + count
    return
  end
  local length = ctx.queue_lengths[worker]
  ctx.queue_lengths[worker] = length and length + count
  ctx.queue_growth[worker] = (ctx.queue_growth[worker] or 0) + count
end

-- Writes by how much queues have changed.
function workers.save(ctx)
  for worker, count in pairs(ctx.queue_growth) do
    if count ~= 0 then
      local name = commands.text(worker)
      ctx.call('HINCRBY', ctx.prefix .. K.queue_lengths, name, commands.text(count))
    end
  end
end

-- Counts URLs that a worker has, in its queue or in progress.
function workers.add_load(ctx, worker, count)
  if worker ~= const.ANYONE then
    ctx.call('ZADD', ctx.prefix .. K.loads, 'XX', 'INCR', commands.text(count), pad(worker))
  end
end

-- Notes how many slots a worker has: what it works on, and so many more.
function workers.note_slots(ctx, worker, free)
  local load = ctx.call('ZSCORE', ctx.prefix .. K.loads, pad(worker)) or 0
  ctx.slots = tonumber(load) - workers.queue_length(ctx, worker) + free
  if ctx.slots >= const.RESERVED_FROM then
    ctx.unproven = ctx.call('HGET', ctx.prefix .. K.trying, commands.text(worker))
    ctx.unproven = tonumber(ctx.unproven or 0)
  end
end

-- Tells whether a worker may ask one more host that did not answer last, or is new: a quarter of its
-- slots is for the others. See scheduler_rules.py.
function workers.may_try(ctx)
  return ctx.slots < const.RESERVED_FROM or ctx.unproven < ctx.slots - math.floor(ctx.slots / 4)
end

-- Counts the URLs of such hosts that a worker works on.
function workers.count_unproven(ctx, worker, count)
  local key, name = ctx.prefix .. K.trying, commands.text(worker)
  local unproven = ctx.call('HINCRBY', key, name, commands.text(count))
  if unproven <= 0 then
    ctx.call('HDEL', key, name)
  end
  ctx.unproven = unproven
end

-- Returns how many slots of a shared host a worker may use: else the first would take each again
-- when it has settled.
function workers.share(ctx, h)
  ctx.worker_count = ctx.worker_count or ctx.call('ZCARD', ctx.prefix .. K.loads)
  return math.ceil(host_limits.of(ctx, h.name).connections / ctx.worker_count)
end

-- Counts URLs of a shared host that a worker works on.
function workers.add_share(ctx, worker, h, count)
  local key = ctx.prefix .. K.shares .. commands.text(worker)
  if ctx.call('HINCRBY', key, h.key, commands.text(count)) <= 0 then
    ctx.call('HDEL', key, h.key)
  end
end

return workers
