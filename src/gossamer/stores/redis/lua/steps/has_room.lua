-- Answers whether the URL queue has room.

steps.reading('has_room', function(ctx)
  return ctx.counts.unscored < ctx.rules.url_queue
end)
