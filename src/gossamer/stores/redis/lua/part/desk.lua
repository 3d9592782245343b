-- Each partition chooses among the workers for itself.

-- Returns the worker with the shortest queue; of several, not the same in every partition.
local function least_loaded()
  local loads_key = P .. K.loads
  local first = call('ZRANGE', loads_key, 0, 0, 'WITHSCORES')
  if not first[1] then
    return nil
  end
  local same = call('ZRANGEBYSCORE', loads_key, first[2], first[2])
  return tonumber(same[R.partition % #same + 1])
end
