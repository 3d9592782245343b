-- needs: base urls hosts rings agenda scheduler leases
-- Counts.
local gaps = call('ZRANGE', P .. K.free, 0, -1)
for i, number in ipairs(gaps) do
  gaps[i] = tonumber(number)
end
local outcomes, all = {}, call('HGETALL', P .. K.outcomes)
for i = 1, #all, 2 do
  outcomes[#outcomes + 1] = { all[i], tonumber(all[i + 1]) }
end
return done({
  waiting = waiting(), in_progress = C.in_progress, pages = C.pages, bytes = C.bytes, hosts = C.met,
  ended_by = ended_by(), outcomes = outcomes, last_page = C.page,
  gaps = gaps, quarantined = C.broken,
})
