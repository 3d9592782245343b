-- needs: base urls hosts rings agenda scheduler
-- Assigns URLs to workers: for each draw, from the first of its queues that has any.

-- Returns the worker that serves a domain; nil: whoever likes may have it.
local function holder(d)
  local bound = d.busy > 0 or d.kept_until > now
  return bound and is_there(d.worker) and d.worker or nil
end

-- Returns what to assign of the host that has its turn in a queue; nil: nothing for now.
local function consider(h, queue)
  if R.strict then
    for q = R.queues, 1, -1 do
      queue = h.stock[q] > 0 and q - 1 or queue
    end
  end
  local count = math.min(h.stock[queue + 1], room(h), const.ASSIGNED_AT_ONCE)
  if count <= 0 then
    return nil
  end
  if h.next > now + const.SOON_S then
    park(h)
    return nil
  end
  local held_by = holder(domain(h.domain))
  local worker = held_by or least_loaded()
  local left = space(worker)
  if left <= 0 then
    turn_away(h, held_by or ANY)
    return nil
  end
  return { host = h, queue = queue, count = math.min(count, left), worker = worker }
end

local function pick(queues)
  local free = least_loaded()
  if not free or space(free) <= 0 then
    return nil
  end
  for _, worker in ipairs(call('SMEMBERS', P .. K.crowded)) do
    if worker == ANY or space(tonumber(worker)) > 0 then
      call_back(worker)
    end
  end
  for _, queue in ipairs(queues) do
    local ring = P .. K.ring .. text(queue)
    local first = call('LINDEX', ring, 0)
    while first do
      local h = host(tonumber(first))
      local found = not h.aside and consider(h, queue)
      if found then
        call('LMOVE', ring, ring, 'LEFT', 'RIGHT')
        return found
      end
      leave_ring(queue)
      first = call('LINDEX', ring, 0)
    end
  end
  return nil
end

-- Takes the best URLs of a host in a queue off the backend.
local function take(found)
  local low = string.format('%.17g', const.MAX_SCORE * found.queue / R.queues)
  local backend = P .. K.queued .. found.host.key
  local best =
    call('ZRANGEBYSCORE', backend, low, '+inf', 'WITHSCORES', 'LIMIT', '0', text(found.count))
  local items, names, ids = {}, {}, {}
  for i = 1, #best, 2 do
    names[#names + 1] = best[i]
    ids[#names] = id_of(best[i])
    items[i], items[i + 1] = best[i + 1], best[i]
  end
  call('ZREM', backend, unpack(names))
  fetch_urls(ids)
  for _, id in ipairs(ids) do
    move_to(id, const.ASSIGNED)
  end
  return items
end

end_rests(now + const.SOON_S)
local assigned = 0
for _, queues in ipairs(A) do
  local found = pick(queues)
  if not found then
    break
  end
  local h = found.host
  domain(h.domain).worker = found.worker
  touch_domain(domain(h.domain))
  local items = take(found)
  stock(h, found.queue, -#items / 2)
  put_into_queue(h, items)
  assigned = assigned + #items / 2
end
return done(assigned)
