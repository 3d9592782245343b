-- Takes a role that nobody has, or keeps it; KEYS: the role, ARGV: who, for how many ms.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
