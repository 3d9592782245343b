-- Links that lead into other partitions.

-- Keeps where they lead, and sends them there, each lot with its part of the page's credit.
-- Returns the numbers of the messages.
local function send_abroad(u, own, path)
  local share, kept, sent = 1 / math.max(1, links_to_others(own)), {}, {}
  for i, lot in ipairs(A.abroad) do
    local keys, credits = ARGV[6 + i], {}
    for j = 1, #lot.domains, 2 do
      credits[j], credits[j + 1] = lot.domains[j], lot.domains[j + 1] * share
    end
    for first = 1, #keys, 16 do
      kept[#kept + 1] = struct.pack('>I2', lot.to) .. string.sub(keys, first, first + 15)
    end
    sent[i] = send(lot.to, { 'links', path, lot, keys, credits })
  end
  if #kept > 0 then
    call('HSET', P .. K.abroad, text(u.id), table.concat(kept))
  else
    call('HDEL', P .. K.abroad, text(u.id))
  end
  return sent
end

-- Tells others that what a URL leads to is nearer; they have heard of it before.
local function bring_nearer_abroad(u, way)
  local packed = call('HGET', P .. K.abroad, text(u.id)) or ''
  local path, keys = { depth = way.depth + 1, hops = 0, parent = u.id }, {}
  if has(u, REDIRECT) then
    path = { depth = way.depth, hops = way.hops + 1, parent = u.id }
  end
  for first = 1, #packed, 18 do
    local to = struct.unpack('>I2', packed, first)
    keys[to] = keys[to] or {}
    table.insert(keys[to], string.sub(packed, first + 2, first + 17))
  end
  for to, some in pairs(keys) do
    send(to, { 'nearer', path, some })
  end
end
