-- The workers: who takes part, and how long the queue of each is. The URLs of shared hosts are in
-- one more queue, of const.ANYONE, from which each worker takes its share.

local workers = {}

-- Workers are named so that of equally short queues the one of the first worker comes first.
local function pad(worker)
  return ('%012d'):format(worker)
end

-- Lets a worker take part, or notes that it still does.
function workers.join(ctx, worker)
  ctx.call('ZADD', ctx.prefix .. K.loads, 'NX', '0', pad(worker))
  ctx.call('ZADD', ctx.prefix .. K.seen, 'GT', ctx.now, commands.text(worker))
  ctx.counts.closed = const.AT_WORK
end

-- Forgets a worker that has nothing any more.
function workers.forget(ctx, worker)
  local name = commands.text(worker)
  ctx.call('ZREM', ctx.prefix .. K.loads, pad(worker))
  ctx.call('ZREM', ctx.prefix .. K.seen, name)
  ctx.call('HDEL', ctx.prefix .. K.reports, name)
  ctx.call('DEL', ctx.prefix .. K.shares .. name)
end

-- Returns the length of a worker's queue; false if the worker does not take part.
function workers.load_of(ctx, worker)
  if worker == const.ANYONE then
    return ctx.counts.common
  end
  local load = ctx.loads[worker]
  if load == nil then
    load = ctx.call('ZSCORE', ctx.prefix .. K.loads, pad(worker))
    load = load and tonumber(load)
    ctx.loads[worker] = load
  end
  return load
end

-- Returns the worker with the shortest queue; nil if there is no worker.
function workers.least_loaded(ctx)
  local first = ctx.call('ZRANGE', ctx.prefix .. K.loads, '0', '0')[1]
  return first and tonumber(first)
end

-- Returns how many more URLs fit into a worker's queue.
function workers.space(ctx, worker)
  local most = ctx.rules.worker_queue
  return most - (workers.load_of(ctx, worker) or most)
end

function workers.add_load(ctx, worker, count)
  if worker == const.ANYONE then
    ctx.counts.common = ctx.counts.common + count
    return
  end
  local load = ctx.call('ZINCRBY', ctx.prefix .. K.loads, commands.text(count), pad(worker))
  ctx.loads[worker] = tonumber(load)
end

-- Returns how many slots of a shared host a worker may use: else the first would take each again
-- when it has settled.
function workers.share(ctx)
  ctx.share = ctx.share
    or math.ceil(ctx.rules.host_connections / ctx.call('ZCARD', ctx.prefix .. K.loads))
  return ctx.share
end

-- Counts URLs of a shared host that a worker works on.
function workers.add_share(ctx, worker, h, count)
  local key = ctx.prefix .. K.shares .. commands.text(worker)
  if ctx.call('HINCRBY', key, h.key, commands.text(count)) <= 0 then
    ctx.call('HDEL', key, h.key)
  end
end

return workers
