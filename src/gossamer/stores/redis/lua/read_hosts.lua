-- needs: base urls hosts rings agenda scheduler
-- Returns the hosts with most to do, and the slowest ones, at most so many of each.
local limit, busy, list = A[1], {}, {}

local function see(hid)
  if not busy[hid] then
    busy[hid] = true
    list[#list + 1] = host(hid)
  end
end

for _, packed in ipairs(call('HVALS', P .. K.leases)) do
  local _, _, hid = struct.unpack('>I6I6I4', packed)
  see(hid)
end
local sources = { { 'ZRANGE', P .. K.parked } }
for _, worker in ipairs(call('ZRANGE', P .. K.seen, 0, limit - 1)) do
  sources[#sources + 1] = { 'ZRANGE', P .. K.agenda .. worker }
end
for q = 0, R.queues - 1 do
  sources[#sources + 1] = { 'LRANGE', P .. K.ring .. q }
end
for _, source in ipairs(sources) do
  if #list >= limit then
    break
  end
  for _, hid in ipairs(call(source[1], source[2], 0, limit - 1)) do
    see(tonumber(hid))
  end
end
table.sort(list, function(one, other)
  if one.in_progress ~= other.in_progress then
    return one.in_progress > other.in_progress
  end
  return one.waiting > other.waiting
end)
local out, shown = {}, {}

local function show(h)
  if not shown[h.hid] then
    shown[h.hid] = true
    local mean = h.requests > 0 and h.took / h.requests or 0
    out[#out + 1] = { h.name, h.waiting, h.in_progress, h.pages, h.failed, h.next - now, mean * 1000 }
  end
end

for i = 1, math.min(limit, #list) do
  show(list[i])
end
for _, hid in ipairs(call('ZREVRANGE', P .. K.slow, 0, limit - 1)) do
  show(host(tonumber(hid)))
end
return done(out)
