-- Who works on what: at most one lease for each URL.

local LEASE = '>I6I6I4'

-- Numbers grow with the time: a server that has lost its last seconds gives none a second time.
local function grant(u, h, worker)
  C.lease = math.max(C.lease + 1, math.floor(now * const.LEASES_PER_S))
  C.in_progress = C.in_progress + 1
  call('HSET', P .. K.leases, text(u.id), struct.pack(LEASE, C.lease, worker, h.hid))
  call('ZADD', P .. K.deadlines, now + R.lease_s, text(u.id))
  return C.lease
end

-- Returns the host and the worker of a lease if it is still the URL's newest.
local function find_lease(id, number)
  local packed = call('HGET', P .. K.leases, text(id))
  if not packed then
    return nil
  end
  local newest, worker, hid = struct.unpack(LEASE, packed)
  if number and newest ~= number then
    return nil
  end
  return host(hid), worker, newest
end

local function end_lease(id, h, next_start)
  call('HDEL', P .. K.leases, text(id))
  call('ZREM', P .. K.deadlines, text(id))
  C.in_progress = C.in_progress - 1
  local d = domain(h.domain)
  d.busy = d.busy - 1
  d.kept_until = now + R.domain_ttl_s
  touch_domain(d)
  end_visit(h, next_start)
end

-- Returns which limit leaves no room for another page, beside what is reserved; nil: none does.
local function exhausted_by(reserved)
  if C.pages + reserved >= R.max_pages then
    return 'max-pages'
  end
  local largest = math.min(R.max_page_bytes, R.max_bytes)
  local used = C.bytes + reserved * largest
  if used >= R.max_bytes or used + largest > R.max_bytes then
    return 'max-bytes'
  end
  return nil
end

local function waiting()
  return C.unscored + C.queued + C.assigned
end

local function ended_by()
  if C.in_progress > 0 then
    return nil
  end
  if waiting() > 0 then
    return exhausted_by(0)
  end
  return 'complete'
end
