-- Assigns URLs to workers: for each draw, from the first of its queues that has any. Before that it
-- follows up shorter paths, and adds links that a dead worker has left.

-- Returns the worker that serves a host; nil: any worker may have it.
local function holder(ctx, h)
  if hosts.is_shared(ctx, h) then
    return const.ANYONE
  end
  local d = domains.get(ctx, h.domain)
  local is_bound = d.busy > 0 or d.kept_until > ctx.now
  return is_bound and d.worker and workers.queue_length(ctx, d.worker) and d.worker or nil
end

-- Returns the queue from which a host is served when it has its turn: in strict order its first.
local function queue_for(ctx, h, queue)
  if ctx.rules.strict then
    for other in pairs(h.stock) do
      queue = math.min(queue, other)
    end
  end
  return queue
end

-- Returns what to assign of the host that has its turn in a queue; nil: nothing for now.
local function consider(ctx, h, turn)
  local queue = queue_for(ctx, h, turn)
  local count = math.min(h.stock[queue] or 0, hosts.room(ctx, h), const.ASSIGNED_AT_ONCE)
  if count <= 0 then
    return nil
  end
  if h.next > ctx.now + const.SOON_S then
    rings.park(ctx, h)
    return nil
  end
  local held_by = holder(ctx, h)
  local worker = held_by or workers.least_loaded(ctx)
  local left = worker and workers.space(ctx, worker) or 0
  if left <= 0 then
    rings.turn_away(ctx, h, held_by or rings.ANY)
    return nil
  end
  return { host = h, queue = queue, count = math.min(count, left), worker = worker }
end

-- Tells whether there may be shared hosts in this crawl, and somebody to ask them.
local function may_share(ctx)
  return ctx.rules.may_share and workers.are_there(ctx)
end

-- Returns what to assign from the first of these queues that has anything; nil: nothing for now.
local function pick(ctx, draw)
  local has_room = workers.least_loaded(ctx) ~= nil
  if not has_room and not (may_share(ctx) and workers.space(ctx, const.ANYONE) > 0) then
    return nil
  end
  for _, worker in ipairs(ctx.call('SMEMBERS', ctx.prefix .. K.crowded)) do
    local is_free = worker == rings.ANY and has_room
    if is_free or (worker ~= rings.ANY and workers.space(ctx, tonumber(worker)) > 0) then
      rings.call_back(ctx, worker)
    end
  end
  for _, queue in ipairs(draw) do
    local ring = ctx.prefix .. K.ring .. commands.text(queue)
    local first = ctx.call('LINDEX', ring, '0')
    while first do
      local h = hosts.get(ctx, tonumber(first))
      local found = not h.aside and consider(ctx, h, queue)
      if found then
        ctx.call('LMOVE', ring, ring, 'LEFT', 'RIGHT')
        return found
      end
      rings.leave(ctx, queue)
      first = ctx.call('LINDEX', ring, '0')
    end
  end
  return nil
end

-- Takes the best URLs of a host out of a queue: scores and names in turn.
local function take(ctx, found)
  local key, low = ctx.prefix .. K.queued .. found.host.key, queues.low(ctx, found.queue)
  local limit = commands.text(found.count)
  local best = ctx.call('ZRANGEBYSCORE', key, low, '+inf', 'WITHSCORES', 'LIMIT', '0', limit)
  local items, names, ids = {}, {}, {}
  for i = 1, #best, 2 do
    names[#names + 1] = best[i]
    ids[#names] = urls.id_of(best[i])
    items[i], items[i + 1] = best[i + 1], best[i]
  end
  ctx.call('ZREM', key, unpack(names))
  urls.fetch(ctx, ids)
  for _, id in ipairs(ids) do
    urls.move_to(ctx, id, const.ASSIGNED)
  end
  hosts.add_stock(ctx, found.host, found.queue, -#names)
  return items
end

steps.repeatable('route', function(ctx, message)
  local growth, overdue = links.growth(), slices.overdue(ctx)
  if overdue then
    slices.add_next(ctx, overdue, growth)
  end
  local assigned, _, followed = 0, links.grow(ctx, growth)
  followed = followed + #growth.ids
  if scheduler.must_wait_for_order(ctx) then
    return followed
  end
  rings.end_rests(ctx, ctx.now + const.SOON_S)
  for _, draw in ipairs(message) do
    local found = pick(ctx, draw)
    if not found then
      break
    end
    found.host.shared = found.worker == const.ANYONE
    if not found.host.shared then
      local d = domains.get(ctx, found.host.domain)
      d.worker = found.worker
      domains.change(ctx, d)
    end
    local items = take(ctx, found)
    scheduler.assign(ctx, found.host, items)
    assigned = assigned + #items / 2
  end
  return assigned + followed
end)
