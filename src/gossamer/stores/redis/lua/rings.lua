-- Which host is next in each priority queue, for the router. Beside the rings wait the hosts of
-- which nothing can be assigned for now: those that rest for long, those whose worker has no room.

local ANY = 'any'

-- Lets the router find the host in every queue in which it has URLs, if any may be assigned.
local function offer(h)
  if h.aside or room(h) <= 0 then
    return
  end
  for q = 1, R.queues do
    if h.stock[q] > 0 and h.ringed[q] == 0 then
      h.ringed[q] = 1
      call('RPUSH', P .. K.ring .. text(q - 1), h.key)
      touch(h)
    end
  end
end

local function leave_ring(q)
  local h = host(tonumber(call('LPOP', P .. K.ring .. text(q))))
  h.ringed[q + 1] = 0
  touch(h)
end

local function let_in(h)
  h.aside = false
  touch(h)
  offer(h)
end

local function park(h)
  if not h.aside then
    h.aside = true
    touch(h)
    call('ZADD', P .. K.parked, h.next, h.key)
  end
end

local function turn_away(h, worker)
  if not h.aside then
    h.aside = true
    touch(h)
    call('RPUSH', P .. K.away .. worker, h.key)
    call('SADD', P .. K.crowded, worker)
  end
end

local function end_rests(before)
  local over = call('ZRANGEBYSCORE', P .. K.parked, '-inf', before, 'LIMIT', 0, 1000)
  for _, hid in ipairs(over) do
    let_in(host(tonumber(hid)))
  end
  if #over > 0 then
    call('ZREM', P .. K.parked, unpack(over))
  end
  return #over
end

-- Lets the first host in again that can use the room which the worker has now.
local function call_back(worker)
  while true do
    local hid = call('LPOP', P .. K.away .. worker)
    if not hid then
      call('SREM', P .. K.crowded, worker)
      return
    end
    local h, wants = host(tonumber(hid)), false
    for q = 1, R.queues do
      wants = wants or h.stock[q] > 0
    end
    wants = wants and room(h) > 0
    let_in(h)
    if wants then
      return
    end
  end
end

local function call_all_back(worker)
  for _, hid in ipairs(call('LRANGE', P .. K.away .. worker, 0, -1)) do
    let_in(host(tonumber(hid)))
  end
  call('DEL', P .. K.away .. worker)
  call('SREM', P .. K.crowded, worker)
end
