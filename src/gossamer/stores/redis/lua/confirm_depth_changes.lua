-- needs: base urls
-- Notes that the modules know the depth of these pages.
for _, one in ipairs(A) do
  local id = call('HGET', P .. K.depth_changes, one[1])
  if id and url(tonumber(id)).depth == one[2] then
    call('HDEL', P .. K.depth_changes, one[1])
  end
end
return done(true)
