-- Hosts and domains: what is known of each, its pace, and how much of it may be asked for.

local HOST = {
  'name', 'domain', 'next', 'failures', 'unanswered', 'failed_at', 'crawl_delay', 'promised',
  'taskless_last', 'in_progress', 'waiting', 'assigned', 'aside', 'rank', 'requests', 'failed', 'pages', 'took',
  'stock', 'ringed',
}

local hosts, changed_hosts = {}, {}

local domains, changed_domains = {}, {}

local function delay(h)
  return math.max(R.delay_s, h.crawl_delay)
end

local function save_hosts()
  local out = {}
  for hid, h in pairs(changed_hosts) do
    local values = {}
    for i = 1, #HOST do
      values[i] = h[HOST[i]]
    end
    out[#out + 1] = text(hid)
    out[#out + 1] = cmsgpack.pack(values)
  end
  in_portions('HSET', P .. K.hosts, out)
end

local function touch(h)
  savers.save_hosts = true
  changed_hosts[h.hid] = h
end

-- Counts the stock of each queue by its scores; the number of queues may be another now.
local function count_stock(h)
  h.stock, h.ringed = {}, {}
  for q = 1, R.queues do
    local below = q == R.queues and '+inf' or string.format('(%.17g', const.MAX_SCORE * q / R.queues)
    local from = string.format('%.17g', const.MAX_SCORE * (q - 1) / R.queues)
    h.stock[q] = call('ZCOUNT', P .. K.queued .. h.key, from, below)
    h.ringed[q] = 0
  end
end

local function host(hid)
  local h = hosts[hid]
  if h then
    return h
  end
  h = { hid = hid, key = text(hid) }
  local values = cmsgpack.unpack(call('HGET', P .. K.hosts, text(hid)))
  for i = 1, #HOST do
    h[HOST[i]] = values[i]
  end
  hosts[hid] = h
  if #h.stock ~= R.queues then
    count_stock(h)
  end
  if h.next > now + math.max(delay(h), const.MAX_RETRY_AFTER_S, const.MAX_BACK_OFF_S) then
    h.next = now -- farther away than any rest: written by a clock that went wrong
  end
  if C.unsure > 0 then
    h.next = math.max(h.next, C.unsure + delay(h))
  end
  return h
end

local function new_host(name, domain_name)
  C.hosts = C.hosts + 1
  local h = {
    hid = C.hosts, key = text(C.hosts), name = name, domain = domain_name, next = 0, failures = 0, unanswered = 0,
    failed_at = -INF, crawl_delay = 0, promised = -INF, taskless_last = false, in_progress = 0, waiting = 0,
    assigned = 0, aside = false, rank = 0, requests = 0, failed = 0, pages = 0, took = 0,
    stock = {}, ringed = {},
  }
  for q = 1, R.queues do
    h.stock[q], h.ringed[q] = 0, 0
  end
  if C.unsure > 0 then
    h.next = C.unsure + delay(h)
  end
  hosts[h.hid] = h
  touch(h)
  return h
end

-- Returns a host by its name. The number is negative while none of its URLs is known.
local function host_named(name, domain_name)
  local number = call('HGET', P .. K.host_ids, name)
  if number then
    return host(math.abs(tonumber(number)))
  end
  local h = new_host(name, domain_name)
  call('HSET', P .. K.host_ids, name, -h.hid)
  return h
end

-- Returns the numbers of the hosts that links lead to, with their domains; from now on a URL of
-- each is known.
local function meet_hosts(named)
  local names, numbers, out = {}, {}, {}
  for i = 1, #named do
    names[i] = named[i][1]
  end
  local found = get_many(P .. K.host_ids, names)
  for i = 1, #named do
    local number = tonumber(found[i] or nil)
    if not number then
      number = -new_host(names[i], named[i][2]).hid
    end
    if number < 0 then
      number = -number
      C.met = C.met + 1
      out[#out + 1] = names[i]
      out[#out + 1] = text(number)
    end
    numbers[i] = number
  end
  in_portions('HSET', P .. K.host_ids, out)
  return numbers
end

local function domain(name)
  local d = domains[name]
  if not d then
    local packed = call('HGET', P .. K.domains, name)
    d = { name = name, worker = false, kept_until = 0, busy = 0 }
    if packed then
      d.worker, d.kept_until, d.busy = unpack(cmsgpack.unpack(packed))
    end
    domains[name] = d
  end
  return d
end

local function save_domains()
  local out = {}
  for name, d in pairs(changed_domains) do
    out[#out + 1] = name
    out[#out + 1] = cmsgpack.pack({ d.worker, d.kept_until, d.busy })
  end
  in_portions('HSET', P .. K.domains, out)
end

local function touch_domain(d)
  savers.save_domains = true
  changed_domains[d.name] = d
end

-- How many requests a host may get at a time: one, where it gets pauses.
local function slots(h)
  return delay(h) > 0 and 1 or R.host_connections
end

-- How many of its URLs may be assigned; others need room as well.
local function ahead(h)
  if delay(h) > 0 then
    return 1
  end
  return math.max(1, math.min(const.MAX_ASSIGNED, math.floor(R.worker_queue / 4)))
end

local function room(h)
  return ahead(h) - h.assigned - (delay(h) > 0 and h.in_progress or 0)
end

local function free_at(h)
  return math.max(h.next, h.promised)
end

local function queue_of(score)
  local q = math.min(math.floor(score * R.queues / const.MAX_SCORE), R.queues - 1)
  -- the borders are what division makes of them, not multiplication
  while q > 0 and score < const.MAX_SCORE * q / R.queues do
    q = q - 1
  end
  while q < R.queues - 1 and score >= const.MAX_SCORE * (q + 1) / R.queues do
    q = q + 1
  end
  return q
end
