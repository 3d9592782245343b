-- A lease costs one of the pages that the centre has granted to this partition.

-- Notes which lease of a URL ends; what it had reserved is given back to the centre.
local function note_end(id)
  ended[id] = struct.unpack('>I6', call('HGET', P .. K.leases, text(id)))
  C.spent = C.spent + 1
  call('HDEL', P .. K.voided, text(id))
end

-- Returns whether nothing is left of what was granted, beside what is reserved.
local function exhausted_by(reserved)
  return C.granted - C.spent <= reserved and 'granted' or nil
end
