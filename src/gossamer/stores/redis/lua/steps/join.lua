-- Lets a worker take part, or notes that it still does.

steps.repeatable('join', { 'closed' }, function(ctx, message)
  workers.join(ctx, message[1])
  return true
end)
