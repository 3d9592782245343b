-- Notes that processes of a crawl leave for each other. A note is bytes, which the server's msgpack
-- does not know: it is answered as it is, behind a byte that tells it from no note.

steps.register('get_note', function(keys, args)
  local name = cmsgpack.unpack(args[3])[1]
  local note = redis.call('HGET', keys[1] .. K.notes, name)
  return note and '+' .. note or ''
end, { 'no-writes' })

steps.repeatable('put_note', function(ctx, message, value)
  ctx.call('HSET', ctx.prefix .. K.notes, message[1], value)
  return true
end)
