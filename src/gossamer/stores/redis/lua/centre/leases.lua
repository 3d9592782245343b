-- The centre does not know the leases, only the newest that it has heard of for a URL.

local function newest_lease(id)
  return tonumber(call('ZSCORE', P .. K.claimants, text(id)) or 0)
end

-- Tells whether nobody has come with a newer lease; what an older one has claimed is dropped.
local function find_lease(id, number)
  local newest = newest_lease(id)
  if newest > number then
    return nil
  end
  if newest < number then
    drop_claim(id)
    call('ZADD', P .. K.claimants, text(number), text(id))
  end
  return true
end
