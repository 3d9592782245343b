-- The counters: of the crawl (`counts`), of each depth (`depths`) and of each priority queue
-- (`queue_counts`). A step changes them in its context, and writes what has changed at its end.

local counters = {}

local text = commands.text

-- What stands for counters of which none was written so far.
local function zeros()
  return string.rep('\0', 8 * COUNTER_COUNT)
end

-- Reads the counters into the context.
function counters.read(ctx)
  local packed = ctx.call('GET', ctx.prefix .. K.counts) or zeros()
  ctx.counts, ctx.counts_before = unpack_counts(packed), packed
  ctx.unscored_before = ctx.counts.unscored
end

-- Counts URLs of a depth: `urls` are known, `done` are done, `pages` have a page.
function counters.count_depth(ctx, kind, depth, by)
  local changes = ctx.depth_changes[depth]
  if not changes then
    changes = { urls = 0, done = 0, pages = 0 }
    ctx.depth_changes[depth] = changes
  end
  changes[kind] = changes[kind] + by
end

-- Counts URLs that are queued or assigned, by their priority queue.
function counters.count_queue(ctx, queue, by)
  ctx.queue_changes[queue] = (ctx.queue_changes[queue] or 0) + by
end

-- Notes how many URLs have waited for their score at most.
local function note_peak(ctx)
  local counts = ctx.counts
  if counts.unscored > ctx.unscored_before then
    counts.url_queue_peak = math.max(counts.url_queue_peak, counts.unscored)
  end
end

local function save_counts(ctx)
  note_peak(ctx)
  local packed = pack_counts(ctx.counts)
  if packed ~= ctx.counts_before then
    ctx.call('SET', ctx.prefix .. K.counts, packed)
  end
end

-- Writes what has changed.
function counters.save(ctx)
  save_counts(ctx)
  for depth, changes in pairs(ctx.depth_changes) do
    for kind, by in pairs(changes) do
      if by ~= 0 then
        ctx.call('HINCRBY', ctx.prefix .. K.depths, kind .. ':' .. text(depth), text(by))
      end
    end
  end
  for queue, by in pairs(ctx.queue_changes) do
    if by ~= 0 then
      ctx.call('HINCRBY', ctx.prefix .. K.queue_counts, text(queue), text(by))
    end
  end
end

return counters
