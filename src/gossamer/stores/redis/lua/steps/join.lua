-- Lets a worker take part, or notes that it still does, with what it tells of its process.

steps.repeatable('join', function(ctx, message, report)
  workers.join(ctx, message[1])
  if report then
    ctx.call('HSET', ctx.prefix .. K.reports, commands.text(message[1]), report)
  end
  return true
end)
