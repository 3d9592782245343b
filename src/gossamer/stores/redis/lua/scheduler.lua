-- The scheduler: who may fetch what, and when.

local scheduler = {}

local text = commands.text

-- Puts a URL into the priority queues.
local function enqueue(ctx, h, score, id)
  ctx.call('ZADD', ctx.prefix .. K.queued .. h.key, score, urls.name_of(id))
  hosts.add_stock(ctx, h, queues.of(ctx, score), 1)
  rings.offer(ctx, h)
end

-- Counts URLs of a host in the queue of its worker.
local function count_assigned(ctx, h, count)
  local worker = agenda.worker_of(ctx, h)
  workers.lengthen_queue(ctx, worker, count)
  h.assigned = h.assigned + count
  h.waiting = h.waiting + count
  ctx.counts.assigned = ctx.counts.assigned + count
  hosts.change(ctx, h)
  if not h.shared then
    local d = domains.get(ctx, h.domain)
    d.busy = d.busy + count
    domains.change(ctx, d)
  end
  if h.assigned == 0 then
    ctx.call('SREM', ctx.prefix .. K.served .. text(worker), h.key)
  elseif count > 0 then
    ctx.call('SADD', ctx.prefix .. K.served .. text(worker), h.key)
  end
end

-- Counts URLs of a host that its worker gets, or that are taken from its queue and not leased.
local function count_given(ctx, h, count)
  workers.add_load(ctx, agenda.worker_of(ctx, h), count)
  count_assigned(ctx, h, count)
end

-- Assigns URLs to the worker that serves the host: scores and names in turn.
function scheduler.assign(ctx, h, items)
  ctx.call('ZADD', ctx.prefix .. K.assigned .. h.key, unpack(items))
  count_given(ctx, h, #items / 2)
  agenda.announce(ctx, h)
end

-- Takes the best assigned URL of a host, to be leased; it leaves its queue.
function scheduler.take_first(ctx, h)
  local id = urls.id_of(ctx.call('ZPOPMIN', ctx.prefix .. K.assigned .. h.key)[1])
  agenda.cross_out(ctx, h)
  count_assigned(ctx, h, -1)
  local u = urls.move_to(ctx, id, const.LEASED)
  counters.count_queue(ctx, queues.of(ctx, u.score), -1)
  return u
end

-- Takes all URLs of the host back from its worker; `requeue` puts them where they were.
local function recall(ctx, h)
  local items = ctx.call('ZRANGE', ctx.prefix .. K.assigned .. h.key, '0', '-1', 'WITHSCORES')
  agenda.cross_out(ctx, h)
  ctx.call('DEL', ctx.prefix .. K.assigned .. h.key)
  count_given(ctx, h, -#items / 2)
  return items
end

local function requeue(ctx, h, items)
  for i = 1, #items, 2 do
    local id = urls.id_of(items[i])
    urls.move_to(ctx, id, const.QUEUED)
    enqueue(ctx, h, tonumber(items[i + 1]), id)
  end
end

-- Takes back everything that is assigned to a worker; returns from how many hosts.
function scheduler.recall_all(ctx, worker)
  local served = ctx.call('SMEMBERS', ctx.prefix .. K.served .. text(worker))
  for _, hid in ipairs(served) do
    local h = hosts.get(ctx, tonumber(hid))
    requeue(ctx, h, recall(ctx, h))
  end
  return #served
end

-- Tells whether strict order demands that this URL of the host is assigned at once.
local function goes_before(ctx, h, score, id)
  if not ctx.rules.strict or h.assigned == 0 then
    return false
  end
  local last = ctx.call('ZRANGE', ctx.prefix .. K.assigned .. h.key, '-1', '-1', 'WITHSCORES')
  local worst = tonumber(last[2])
  return score < worst or (score == worst and id < urls.id_of(last[1]))
end

local function assign_at_once(ctx, h, score, id)
  agenda.cross_out(ctx, h) -- its place in the agenda may be a better one now
  scheduler.assign(ctx, h, { score, urls.name_of(id) })
  local worker = agenda.worker_of(ctx, h)
  if h.assigned <= hosts.ahead(ctx, h) and workers.space(ctx, worker) >= 0 then
    return
  end
  local ousted = ctx.call('ZPOPMAX', ctx.prefix .. K.assigned .. h.key)
  count_given(ctx, h, -1)
  requeue(ctx, h, ousted)
end

-- Queues a scored URL, or assigns it where strict order demands that.
function scheduler.queue(ctx, h, u)
  local at_once = goes_before(ctx, h, u.score, u.id)
  u.state = at_once and const.ASSIGNED or const.QUEUED
  urls.change(ctx, u)
  counters.count_queue(ctx, queues.of(ctx, u.score), 1)
  if at_once then
    assign_at_once(ctx, h, u.score, u.id)
  else
    enqueue(ctx, h, u.score, u.id)
  end
end

-- Queues a URL behind all others of its host, for another attempt.
function scheduler.queue_last(ctx, h, u)
  urls.set_score(ctx, u, const.MAX_SCORE)
  u.state = const.QUEUED
  counters.count_queue(ctx, queues.of(ctx, u.score), 1)
  enqueue(ctx, h, u.score, u.id)
end

-- Takes a URL out of its priority queue.
function scheduler.dequeue(ctx, h, u)
  local queue = queues.of(ctx, u.score)
  ctx.call('ZREM', ctx.prefix .. K.queued .. h.key, urls.name_of(u.id))
  hosts.add_stock(ctx, h, queue, -1)
  counters.count_queue(ctx, queue, -1)
end

-- Tells whether the assigned URLs of a host must not stay where they are.
local function is_misplaced(ctx, h)
  return h.next > ctx.now + const.SOON_S
    or h.assigned > hosts.ahead(ctx, h)
    or h.shared ~= hosts.is_shared(ctx, h)
end

-- Takes a slot of a host back, or several, and lets the host rest.
function scheduler.end_visit(ctx, h, next_start, slots)
  h.in_progress = h.in_progress - (slots or 1)
  h.next = math.max(h.next, next_start)
  hosts.change(ctx, h)
  local recalled = {}
  if h.assigned > 0 and is_misplaced(ctx, h) then
    recalled = recall(ctx, h)
  end
  agenda.announce(ctx, h)
  rings.offer(ctx, h)
  requeue(ctx, h, recalled)
end

-- Tells whether a URL may still get ahead of others, where those must wait for it.
function scheduler.must_wait_for_order(ctx)
  return ctx.rules.strict and (ctx.counts.relaxing > 0 or ctx.counts.unadded > 0)
end

return scheduler
