-- needs:
-- Returns what was changed since a step, with the counters of the same moment: nothing else may
-- come between. If that is much, it returns only which URLs; if nobody counted, nothing.
local call, P = redis.call, KEYS[1]
local since, most = ARGV[1], tonumber(ARGV[2])
local step = call('GET', P .. K.watched)
if not step then
  return false
end
local ids = call('ZRANGEBYSCORE', P .. K.changed, '(' .. since, '+inf')
if #ids > most then
  return { step, ids }
end
local urls, targets = {}, {}
if #ids > 0 then
  urls = call('HMGET', P .. K.urls, unpack(ids))
  targets = call('HMGET', P .. K.targets, unpack(ids))
end
return {
  step, ids, urls, targets, call('TIME'), call('HGETALL', P .. K.counts),
  call('HGETALL', P .. K.outcomes), call('HGETALL', P .. K.depth_changes),
  call('ZREVRANGE', P .. K.seen, 0, 0, 'WITHSCORES'),
}
