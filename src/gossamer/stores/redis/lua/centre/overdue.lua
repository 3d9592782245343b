-- needs: base
-- Returns the oldest claims that were made with leases from before a lease's time ago.
local before = math.floor((now - R.lease_s) * const.LEASES_PER_S)
local found = call('ZRANGEBYSCORE', P .. K.claimants, '-inf', text(before), 'WITHSCORES', 'LIMIT', 0, 100)
local out = {}
for i = 1, #found, 2 do
  out[#out + 1] = { tonumber(found[i]), tonumber(found[i + 1]) }
end
return done(out)
