-- needs: base urls hosts rings agenda scheduler
-- Moves URLs from the URL queue into the priority queues; moved ones are left alone.
local ids, moved = {}, {}
for i, one in ipairs(A) do
  ids[i] = one[1]
end
fetch_urls(ids)
for _, one in ipairs(A) do
  local u = url(one[1])
  if u.state == const.UNSCORED then
    u.score = one[2]
    set(u, SCORED, true)
    C.unscored = C.unscored - 1
    moved[#moved + 1] = text(u.id)
    file(host(u.hid), u)
  end
end
in_portions('ZREM', P .. K.url_queue, moved)
return done(true)
