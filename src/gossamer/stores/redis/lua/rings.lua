-- The rings: which host has the next turn in each priority queue. Beside them wait the hosts of
-- which nothing can be assigned for now: those that rest for long, those whose worker has no room.

local rings = {}

local text = commands.text

-- Names the list of hosts for which no worker has room.
rings.ANY = 'any'

-- Lets the router find the host in every queue in which it has URLs, if any may be assigned.
function rings.offer(ctx, h)
  if h.aside or hosts.room(ctx, h) <= 0 then
    return
  end
  for queue in pairs(h.stock) do
    if not h.ringed[queue] then
      h.ringed[queue] = true
      ctx.call('RPUSH', ctx.prefix .. K.ring .. text(queue), h.key)
      hosts.change(ctx, h)
    end
  end
end

-- Takes the first host out of a ring.
function rings.leave(ctx, queue)
  local h = hosts.get(ctx, tonumber(ctx.call('LPOP', ctx.prefix .. K.ring .. text(queue))))
  h.ringed[queue] = nil
  hosts.change(ctx, h)
end

local function let_in(ctx, h)
  h.aside = false
  hosts.change(ctx, h)
  rings.offer(ctx, h)
end

-- Sets a host aside that rests for long; as in `turn_away`, it is in its ring until now.
function rings.park(ctx, h)
  h.aside = true
  ctx.call('ZADD', ctx.prefix .. K.parked, h.next, h.key)
end

-- Sets a host aside for which a worker has no room.
function rings.turn_away(ctx, h, worker)
  h.aside = true
  ctx.call('RPUSH', ctx.prefix .. K.away .. worker, h.key)
  ctx.call('SADD', ctx.prefix .. K.crowded, worker)
end

-- Lets those in again whose rest ends before a moment; returns how many.
function rings.end_rests(ctx, before)
  local key = ctx.prefix .. K.parked
  local over = ctx.call('ZRANGEBYSCORE', key, '-inf', before, 'LIMIT', '0', '1000')
  for _, hid in ipairs(over) do
    let_in(ctx, hosts.get(ctx, tonumber(hid)))
  end
  if #over > 0 then
    ctx.call('ZREM', key, unpack(over))
  end
  return #over
end

-- Lets the first host in again that can use the room which the worker has now.
function rings.call_back(ctx, worker)
  while true do
    local hid = ctx.call('LPOP', ctx.prefix .. K.away .. worker)
    if not hid then
      ctx.call('SREM', ctx.prefix .. K.crowded, worker)
      return
    end
    local h = hosts.get(ctx, tonumber(hid))
    local can_use_it = next(h.stock) ~= nil and hosts.room(ctx, h) > 0
    let_in(ctx, h)
    if can_use_it then
      return
    end
  end
end

function rings.call_all_back(ctx, worker)
  for _, hid in ipairs(ctx.call('LRANGE', ctx.prefix .. K.away .. worker, '0', '-1')) do
    let_in(ctx, hosts.get(ctx, tonumber(hid)))
  end
  ctx.call('DEL', ctx.prefix .. K.away .. worker)
  ctx.call('SREM', ctx.prefix .. K.crowded, worker)
end

return rings
