-- Notes whether seeds are still to be added.

steps.repeatable('set_reading', function(ctx, message)
  ctx.counts.reading = message[1]
  return true
end)
