-- Extends leases; answers those, by their place in the list, that were lost.

steps.repeatable('renew', function(ctx, message)
  local lost, deadline = {}, leases.deadline(ctx)
  for i, one in ipairs(message) do
    if leases.find(ctx, one[1], one[2]) then
      ctx.call('ZADD', ctx.prefix .. K.deadlines, 'GT', deadline, commands.text(one[1]))
    else
      lost[#lost + 1] = i
    end
  end
  return lost
end)
