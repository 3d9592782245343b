-- Forgets the rows of results up to a number, some at a time; answers whether any may be left.

steps.repeatable('drop_rows', function(ctx, message)
  return results.drop_rows(ctx, message[1])
end)
