-- Gives up a role, if it is still ours; keys: the role; args: who.

steps.register('resign', function(keys, args)
  if redis.call('GET', keys[1]) == args[1] then
    redis.call('DEL', keys[1])
  end
  return 1
end)
