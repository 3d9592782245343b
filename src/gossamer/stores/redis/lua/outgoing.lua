-- needs: base
-- Returns the first messages after one, each after its length: at most so many, and so many bytes
-- beside the first. Those that were taken in are kept for a time, should the receiver lose them.
local outbox, since = P .. K.outbox .. text(A[1]), A[2]
local old = math.min(since, math.floor((now - const.KEPT_MESSAGES_S) * const.LEASES_PER_S))
call('ZREMRANGEBYSCORE', outbox, '-inf', text(old))
local some, size = {}, 0
for _, one in ipairs(call('ZRANGEBYSCORE', outbox, '(' .. text(since), '+inf', 'LIMIT', 0, A[3])) do
  size = size + #one
  if #some > 0 and size > A[4] then
    break
  end
  some[#some + 1] = struct.pack('>I4', #one) .. one
end
return table.concat(some)
