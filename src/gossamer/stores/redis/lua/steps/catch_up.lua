-- Returns what was changed since a step, with the counters of the same moment: nothing else may
-- come between. If that is much, it returns only which URLs; if nobody counted, nothing.

steps.register('catch_up', function(keys, args)
  local call, prefix = redis.call, keys[1]
  local since, most = args[1], tonumber(args[2])
  local step = call('GET', prefix .. K.watched)
  if not step then
    return false
  end
  local ids = call('ZRANGEBYSCORE', prefix .. K.changed, '(' .. since, '+inf')
  if #ids > most then
    return { step, ids }
  end
  local records, targets = {}, {}
  if #ids > 0 then
    records = call('HMGET', prefix .. K.urls, unpack(ids))
    targets = call('HMGET', prefix .. K.targets, unpack(ids))
  end
  return {
    step, ids, records, targets, call('TIME'), call('GET', prefix .. K.counts),
    call('HGETALL', prefix .. K.outcomes), call('HGETALL', prefix .. K.depth_changes),
    call('ZREVRANGE', prefix .. K.seen, '0', '0', 'WITHSCORES'),
    call('HGETALL', prefix .. K.depths), call('HGETALL', prefix .. K.queue_counts),
    call('ZRANGE', prefix .. K.relaxing, '0', '-1', 'WITHSCORES'),
    call('LLEN', prefix .. K.results),
  }
end, { 'no-writes' })
