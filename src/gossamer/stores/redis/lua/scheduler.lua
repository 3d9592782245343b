-- Who may fetch what, and when.

local function stock(h, queue, count)
  h.stock[queue + 1] = h.stock[queue + 1] + count
  h.waiting = h.waiting + count
  C.queued = C.queued + count
  touch(h)
end

-- Puts a URL into its priority queue.
local function enqueue(h, score, id)
  call('ZADD', P .. K.queued .. h.key, score, name_of(id))
  stock(h, queue_of(score), 1)
  offer(h)
end

local function dequeue(h, score, id)
  call('ZREM', P .. K.queued .. h.key, name_of(id))
  stock(h, queue_of(score), -1)
end

local function pad(worker)
  return string.format('%012d', worker)
end

-- The lengths of workers' queues, as far as they were needed; false: the worker is not there.
local loads = {}

local function load_of(worker)
  if loads[worker] == nil then
    local load = call('ZSCORE', P .. K.loads, pad(worker))
    loads[worker] = load and tonumber(load)
  end
  return loads[worker]
end

local function is_there(worker)
  return worker and load_of(worker) and true or false
end

local function least_loaded()
  local first = call('ZRANGE', P .. K.loads, 0, 0)[1]
  return first and tonumber(first)
end

local function space(worker)
  return R.worker_queue - (load_of(worker) or R.worker_queue)
end

local function join(worker)
  call('ZADD', P .. K.loads, 'NX', '0', pad(worker))
  call('ZADD', P .. K.seen, 'GT', now, text(worker))
end

local function count_assigned(h, count)
  local d = domain(h.domain)
  loads[d.worker] = tonumber(call('ZINCRBY', P .. K.loads, text(count), pad(d.worker)))
  h.assigned = h.assigned + count
  h.waiting = h.waiting + count
  d.busy = d.busy + count
  C.assigned = C.assigned + count
  touch(h)
  touch_domain(d)
  if h.assigned == 0 then
    call('SREM', P .. K.served .. text(d.worker), h.key)
  elseif count > 0 then
    call('SADD', P .. K.served .. text(d.worker), h.key)
  end
end

-- Puts URLs into the queue of the worker that serves the host: scores and names in turn.
local function put_into_queue(h, items)
  call('ZADD', P .. K.assigned .. h.key, unpack(items))
  count_assigned(h, #items / 2)
  announce(h)
end

local function move_to(id, where)
  local u = url(id)
  u.state = where
  change(u)
  return u
end

-- Takes all URLs of the host out of its worker's queue, back into the priority queues.
local function recall(h)
  local items = call('ZRANGE', P .. K.assigned .. h.key, 0, -1, 'WITHSCORES')
  cross_out(h)
  call('DEL', P .. K.assigned .. h.key)
  count_assigned(h, -#items / 2)
  return items
end

local function requeue(h, items)
  for i = 1, #items, 2 do
    local id = id_of(items[i])
    move_to(id, const.QUEUED)
    enqueue(h, tonumber(items[i + 1]), id)
  end
end

-- Tells whether strict order demands that this URL of the host is assigned at once.
local function goes_before(h, score, id)
  if not R.strict or h.assigned == 0 then
    return false
  end
  local last = call('ZRANGE', P .. K.assigned .. h.key, -1, -1, 'WITHSCORES')
  local worst = tonumber(last[2])
  return score < worst or (score == worst and id < id_of(last[1]))
end

local function assign_at_once(h, score, id)
  cross_out(h) -- its place in the agenda may be a better one now
  put_into_queue(h, { score, name_of(id) })
  if h.assigned <= ahead(h) and space(agenda_of(h)) >= 0 then
    return
  end
  local ousted = call('ZPOPMAX', P .. K.assigned .. h.key)
  count_assigned(h, -1)
  requeue(h, ousted)
end

-- Files a scored URL where it belongs.
local function file(h, u)
  local at_once = goes_before(h, u.score, u.id)
  u.state = at_once and const.ASSIGNED or const.QUEUED
  change(u)
  if at_once then
    assign_at_once(h, u.score, u.id)
  else
    enqueue(h, u.score, u.id)
  end
end

-- Takes a place at a host back and lets it rest.
local function end_visit(h, next_start)
  h.in_progress = h.in_progress - 1
  h.next = math.max(h.next, next_start)
  touch(h)
  local recalled = {}
  if h.assigned > 0 and (h.next > now + const.SOON_S or h.assigned > ahead(h)) then
    recalled = recall(h)
  end
  announce(h)
  offer(h)
  requeue(h, recalled)
end
