-- Answers the pages of which the modules know a larger depth, with their depth.

steps.reading('pending_depth_changes', {}, function(ctx)
  local out, all = {}, ctx.call('HGETALL', ctx.prefix .. K.depth_changes)
  for i = 1, #all, 2 do
    out[#out + 1] = { tonumber(all[i]), urls.get(ctx, tonumber(all[i + 1])).depth }
  end
  table.sort(out, function(one, other)
    return one[1] < other[1]
  end)
  return out
end)
