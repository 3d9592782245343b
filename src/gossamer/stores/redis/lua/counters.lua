-- The counters: of the crawl (`counts`), of each depth (`depths`) and of each priority queue
-- (`queue_counts`). A step changes them in its context, and writes what has changed at its end.

local counters = {}

local text = commands.text

-- A step names the counters that it nearly always needs; any other is read when it is used.
local UNREAD = {
  __index = function(counts, name)
    local ctx = counts.ctx
    local value = tonumber(ctx.call('HGET', ctx.prefix .. K.counts, name) or 0)
    counts[name], ctx.counts_before[name] = value, value
    return value
  end,
}

-- Reads counters into the context.
function counters.read(ctx, names)
  local counts, before = { ctx = ctx }, {}
  local found = ctx.call('HMGET', ctx.prefix .. K.counts, unpack(names))
  for i = 1, #names do
    local value = tonumber(found[i] or 0)
    counts[names[i]], before[names[i]] = value, value
  end
  ctx.counts, ctx.counts_before = setmetatable(counts, UNREAD), before
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
  local unscored = rawget(counts, 'unscored') or 0
  if unscored > (ctx.counts_before.unscored or 0) then
    counts.url_queue_peak = math.max(counts.url_queue_peak, unscored)
  end
end

local function save_counts(ctx)
  note_peak(ctx)
  local counts, changed = ctx.counts, {}
  for name, before in pairs(ctx.counts_before) do
    local value = counts[name]
    if value ~= before then
      changed[#changed + 1] = name
      changed[#changed + 1] = value % 1 == 0 and text(value) or value
    end
  end
  if #changed > 0 then
    ctx.call('HSET', ctx.prefix .. K.counts, unpack(changed))
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
