-- Answers pages of which the modules know a larger depth, with their depth; at most so many.

steps.reading('pending_depth_changes', function(ctx, message)
  local key, limit = ctx.prefix .. K.depth_changes, commands.text(message[1])
  local out, all = {}, ctx.call('HRANDFIELD', key, limit, 'WITHVALUES')
  for i = 1, #all, 2 do
    out[#out + 1] = { tonumber(all[i]), urls.get(ctx, tonumber(all[i + 1])).depth }
  end
  table.sort(out, function(one, other)
    return one[1] < other[1]
  end)
  return out
end)
