-- needs: base
-- Returns how much each partition was granted in all.
local out = {}
for p = 0, R.partitions - 1 do
  out[p + 1] = tonumber(call('HGET', P .. K.budget, 'granted:' .. text(p)) or 0)
end
return done(out)
