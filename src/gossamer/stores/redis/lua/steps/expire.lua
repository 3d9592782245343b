-- Forgets some of the contents whose time is over; answers how many. With its own clock the server
-- forgets by itself.

steps.repeatable('expire', function(ctx)
  if not ctx.rules.given then
    return 0
  end
  results.expire(ctx)
  return pages.expire(ctx)
end)
