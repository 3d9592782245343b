-- Gives up a role, if it is still ours; KEYS: the role, ARGV: who.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
end
return 1
