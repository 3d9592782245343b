-- Answers results after a number, for whoever writes the outputs of one part; args: the number, how
-- many, the part.

steps.register('read_part', function(keys, args)
  local after, limit, part = tonumber(args[1]), tonumber(args[2]), tonumber(args[3])
  return results.of_part(redis.call, keys[1], after, limit, part)
end, { 'no-writes' })
