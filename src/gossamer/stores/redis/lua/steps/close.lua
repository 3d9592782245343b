-- Notes that a process has ended in order, if it was the last and has left nothing in progress. Its
-- workers are as good as silent: what was assigned to them is for others.

steps.repeatable('close', function(ctx, message)
  for _, worker in ipairs(message) do
    ctx.call('ZADD', ctx.prefix .. K.seen, 'XX', '0', commands.text(worker))
  end
  if ctx.counts.in_progress == 0 and ctx.counts.taken_slots == 0 then
    ctx.counts.closed = const.IN_ORDER
  end
  return true
end)
