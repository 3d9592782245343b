-- needs: base leases
-- Grants pages of the largest size to a partition, as far as the budgets go, and returns how many
-- it was granted in all, and how many now. Partitions report what they have used and given back;
-- until they do, it counts as reserved, which is never too little.
local partition, want = A[1], A[2]
local budget = P .. K.budget
for _, one in ipairs(A[3]) do
  for i, name in ipairs({ 'spent:', 'pages:', 'bytes:' }) do
    local field = name .. text(one[1])
    local before = tonumber(call('HGET', budget, field) or 0)
    if one[i + 1] > before then
      call('HSET', budget, field, text(one[i + 1]))
    end
  end
end
C.pages, C.bytes = 0, 0
local reserved = 0
for p = 0, R.partitions - 1 do
  local name = text(p)
  local found = call('HMGET', budget, 'granted:' .. name, 'spent:' .. name, 'pages:' .. name, 'bytes:' .. name)
  reserved = reserved + tonumber(found[1] or 0) - tonumber(found[2] or 0)
  C.pages = C.pages + tonumber(found[3] or 0)
  C.bytes = C.bytes + tonumber(found[4] or 0)
end
local given = 0
while given < want and not exhausted_by(reserved + given) do
  given = given + 1
end
local total = call('HINCRBY', budget, 'granted:' .. text(partition), text(given))
return done_once({ total, given })
