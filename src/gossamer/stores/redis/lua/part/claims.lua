-- Numbers and contents are the centre's business: the caller says what it has answered, and it
-- hears in order how the leases ended.

local function find_claim(id)
  return A.claimed and A.page_id and { number = A.page_id } or nil
end

-- The claim because of which the page was refused may have been given up meanwhile.
local function find_refusal(id)
  if not (A.claimed and A.twin) then
    return nil
  end
  return { twin = A.twin, holder = 0, void = call('HEXISTS', P .. K.voided, text(id)) == 1 }
end

-- Nobody need be told where the caller knows that nothing was claimed.
local function drop_claim(id)
  if A.claimed ~= false then
    send(R.partitions, { 'drop', id, ended[id] })
  end
end
