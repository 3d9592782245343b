-- Returns the body of a kept page, behind a byte, the length of its note, and the note; a single
-- byte if the page is claimed and not kept so far, nothing if there is no body. Bodies are bytes,
-- which the server's msgpack does not know.

local CLAIMED, KEPT = '-', '+'

steps.register('stored_body', function(keys, args)
  local name = commands.text(cmsgpack.unpack(args[3])[1])
  local record = redis.call('HGET', keys[1] .. K.pages, name)
  if not record then
    local sample = redis.call('GETRANGE', keys[1] .. K.sample .. name, '0', '4')
    return #sample > 0 and CLAIMED or ''
  end
  local content = redis.call('GET', keys[1] .. K.content .. name)
  return content and KEPT .. struct.pack('>I4', #record) .. record .. content or ''
end, { 'no-writes' })
