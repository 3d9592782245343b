-- What partitions and the centre of a divided crawl have in common: an outbox for each of the
-- others. The centre has the number after the last partition.

-- The messages that this step has sent: receiver and number.
local posted = {}

-- Puts a message into an outbox, in one step with what it tells of. Each knows which was before.
-- Numbers grow with the time: a server that has lost its last seconds gives none a second time.
local function send(to, message)
  local before = tonumber(call('HGET', P .. K.sent, text(to)) or 0)
  local number = math.max(before + 1, math.floor(now * const.LEASES_PER_S))
  call('HSET', P .. K.sent, text(to), text(number))
  local packed = struct.pack('>I6I6', number, before) .. cmsgpack.pack(message)
  call('ZADD', P .. K.outbox .. text(to), text(number), packed)
  posted[#posted + 1] = { to, number }
  return number
end

-- Returns the numbers in a hash, as pairs.
local function numbers_in(name)
  local out, all = {}, call('HGETALL', P .. name)
  for i = 1, #all, 2 do
    out[#out + 1] = { tonumber(all[i]), tonumber(all[i + 1]) }
  end
  return out
end
