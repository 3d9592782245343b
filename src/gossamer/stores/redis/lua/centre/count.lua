-- needs: base
-- Counts what the centre knows.
local gaps = call('ZRANGE', P .. K.free, 0, -1)
for i, number in ipairs(gaps) do
  gaps[i] = tonumber(number)
end
return done({
  claims = call('ZCARD', P .. K.claimants), last_page = C.page, gaps = gaps,
  sent = numbers_in(K.sent), received = numbers_in(K.received),
})
