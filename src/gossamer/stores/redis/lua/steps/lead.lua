-- Takes a role that nobody has, or keeps it; keys: the role; args: who, for how many milliseconds.

steps.register('lead', function(keys, args)
  local holder = redis.call('GET', keys[1])
  if holder and holder ~= args[1] then
    return 0
  end
  redis.call('SET', keys[1], args[1], 'PX', args[2])
  return 1
end)
