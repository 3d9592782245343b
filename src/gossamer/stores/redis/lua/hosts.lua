-- The hosts: what is known of each, its pace, and how much of it may be asked for.

local hosts = {}

local text = commands.text

-- Returns the least pause between two requests to a host.
function hosts.least_delay(ctx, h)
  return math.max(host_limits.of(ctx, h.name).delay_s, h.crawl_delay)
end

-- Returns the pause between two requests to a host: the least one, or the longer one that fits how
-- the host has answered so far.
local function delay(ctx, h)
  local least = hosts.least_delay(ctx, h)
  if not host_limits.of(ctx, h.name).auto_delay then
    return least
  end
  return math.max(least, h.delay > 0 and h.delay or const.FIRST_DELAY_S)
end

hosts.delay = delay

function hosts.change(ctx, h)
  ctx.changed_hosts[h.hid] = h
end

-- Counts by their scores how many URLs wait in each queue: the queues are others now. That is kept
-- in any case, for if the number of queues changes back, the host would seem to be in rings of old.
local function count_stock(ctx, h)
  h.queues, h.stock, h.ringed = ctx.rules.queues, {}, {}
  hosts.change(ctx, h)
  local key = ctx.prefix .. K.queued .. h.key
  if ctx.call('ZCARD', key) == 0 then
    return
  end
  for queue = 0, h.queues - 1 do
    local below = queue == h.queues - 1 and '+inf' or '(' .. queues.low(ctx, queue + 1)
    local count = ctx.call('ZCOUNT', key, queues.low(ctx, queue), below)
    h.stock[queue] = count > 0 and count or nil
  end
end

-- Only queues that have something are packed: queue, URLs, and whether the host is in its ring.
local function pack_stock(h)
  local out, count = {}, 0
  for queue, urls_waiting in pairs(h.stock) do
    out[count + 1], out[count + 2], out[count + 3] = queue, urls_waiting, h.ringed[queue] and 1 or 0
    count = count + 3
  end
  for queue in pairs(h.ringed) do
    if not h.stock[queue] then
      out[count + 1], out[count + 2], out[count + 3] = queue, 0, 1
      count = count + 3
    end
  end
  return out
end

local function unpack_stock(h, packed)
  for i = 1, #packed, 3 do
    local queue, urls_waiting = packed[i], packed[i + 1]
    h.stock[queue] = urls_waiting > 0 and urls_waiting or nil
    h.ringed[queue] = packed[i + 2] == 1 or nil
  end
end

local function read(hid, packed)
  local v = cmsgpack.unpack(packed)
  local h = {
    hid = hid, key = text(hid), name = v[1], domain = v[2], next = v[3], failures = v[4],
    unanswered = v[5], failed_at = v[6], crawl_delay = v[7], promised = v[8], taskless_last = v[9],
    in_progress = v[10], waiting = v[11], assigned = v[12], aside = v[13], rank = v[14],
    requests = v[15], failed = v[16], pages = v[17], took = v[18], queues = v[19],
    stock = {}, ringed = {}, shared = v[21] or false, delay = v[22] or 0, received = v[23] or 0,
  }
  unpack_stock(h, v[20])
  return h
end

local function write(h)
  return cmsgpack.pack({
    h.name, h.domain, h.next, h.failures, h.unanswered, h.failed_at, h.crawl_delay, h.promised,
    h.taskless_last, h.in_progress, h.waiting, h.assigned, h.aside, h.rank, h.requests, h.failed,
    h.pages, h.took, h.queues, pack_stock(h), h.shared, h.delay, h.received,
  })
end

function hosts.get(ctx, hid)
  local h = ctx.hosts[hid]
  if h then
    return h
  end
  h = read(hid, ctx.call('HGET', ctx.prefix .. K.hosts, text(hid)))
  ctx.hosts[hid] = h
  if h.queues ~= ctx.rules.queues then
    count_stock(ctx, h)
  end
  if h.next > ctx.now + math.max(delay(ctx, h), const.MAX_RETRY_AFTER_S, const.MAX_BACK_OFF_S) then
    h.next = ctx.now -- farther away than any rest: written by a clock that went wrong
  end
  if ctx.counts.unsure > 0 then
    h.next = math.max(h.next, ctx.counts.unsure + delay(ctx, h))
  end
  return h
end

local function new(ctx, name, domain)
  local counts = ctx.counts
  counts.hosts = counts.hosts + 1
  local h = {
    hid = counts.hosts, key = text(counts.hosts), name = name, domain = domain, next = 0,
    failures = 0, unanswered = 0, failed_at = -const.INF, crawl_delay = 0, promised = -const.INF,
    taskless_last = false, in_progress = 0, waiting = 0, assigned = 0, aside = false, rank = 0,
    requests = 0, failed = 0, pages = 0, took = 0, queues = ctx.rules.queues,
    stock = {}, ringed = {}, shared = false, delay = 0, received = 0,
  }
  if counts.unsure > 0 then
    h.next = counts.unsure + delay(ctx, h)
  end
  ctx.hosts[h.hid] = h
  hosts.change(ctx, h)
  return h
end

-- Returns a host by its name. Its number is kept as a negative one while none of its URLs is known.
function hosts.named(ctx, name, domain)
  local number = ctx.call('HGET', ctx.prefix .. K.host_ids, name)
  if number then
    return hosts.get(ctx, math.abs(tonumber(number)))
  end
  local h = new(ctx, name, domain)
  ctx.call('HSET', ctx.prefix .. K.host_ids, name, text(-h.hid))
  return h
end

-- Returns the numbers of the hosts that links lead to, given with their domains; from now on a URL
-- of each is known.
function hosts.meet(ctx, named)
  local counts, names, numbers, out = ctx.counts, {}, {}, {}
  for i = 1, #named do
    names[i] = named[i][1]
  end
  local found = commands.get_many(ctx, ctx.prefix .. K.host_ids, names)
  for i = 1, #named do
    local number = found[i] and tonumber(found[i])
    if not number then
      number = -new(ctx, names[i], named[i][2]).hid
    end
    if number < 0 then
      number = -number
      counts.met = counts.met + 1
      out[#out + 1] = names[i]
      out[#out + 1] = text(number)
    end
    numbers[i] = number
  end
  commands.write(ctx, 'HSET', ctx.prefix .. K.host_ids, out)
  return numbers
end

-- Counts URLs in a queue of the host.
function hosts.add_stock(ctx, h, queue, count)
  local left = (h.stock[queue] or 0) + count
  h.stock[queue] = left > 0 and left or nil
  h.waiting = h.waiting + count
  ctx.counts.queued = ctx.counts.queued + count
  hosts.change(ctx, h)
end

-- Returns how many requests a host may get at a time: one, where it gets pauses, and no more than
-- pages. When its pages are used up nothing is requested any more, only ended.
function hosts.slots(ctx, h)
  local limits = host_limits.of(ctx, h.name)
  local slots = delay(ctx, h) > 0 and 1 or limits.connections
  local left = limits.max_pages and limits.max_pages - h.pages or slots
  return left > 0 and math.min(slots, left) or slots
end

-- Tells whether a host answered its last request, and in time.
function hosts.is_proven(h)
  return h.requests > 0 and h.failures == 0
end

-- Returns which budget of a host is used up; empty: none is.
function hosts.spent(ctx, h)
  local limits = host_limits.of(ctx, h.name)
  if limits.max_pages and h.pages >= limits.max_pages then
    return 'max-pages'
  end
  return limits.max_bytes and h.received >= limits.max_bytes and 'max-bytes' or ''
end

-- Tells whether several workers may serve a host at once. `h.shared` tells whether the URLs that
-- are assigned are assigned to all of them.
function hosts.is_shared(ctx, h)
  return hosts.slots(ctx, h) > 1
end

-- Returns how many of its URLs may be assigned; others need room as well.
function hosts.ahead(ctx, h)
  if delay(ctx, h) > 0 then
    return 1
  end
  return math.max(1, math.min(const.MAX_ASSIGNED, math.floor(ctx.rules.worker_queue / 4)))
end

-- Returns how many more of its URLs may be assigned now.
function hosts.room(ctx, h)
  return hosts.ahead(ctx, h) - h.assigned - (delay(ctx, h) > 0 and h.in_progress or 0)
end

-- Returns when the host may be asked for one of its URLs.
function hosts.free_at(h)
  return math.max(h.next, h.promised)
end

-- Writes the records that have changed.
function hosts.save(ctx)
  local out = {}
  for _, h in pairs(ctx.changed_hosts) do
    out[#out + 1] = h.key
    out[#out + 1] = write(h)
  end
  commands.write(ctx, 'HSET', ctx.prefix .. K.hosts, out)
end

return hosts
