-- Appends records of a kept page to the log of results, with the note that tells how far their
-- module is. If that says so already, the answer to this call got lost.

steps.register('add_replayed', function(keys, args)
  local call, prefix = redis.call, keys[1]
  local page, records, name, progress = args[1], args[2], args[3], args[4]
  if call('HGET', prefix .. K.notes, name) == progress then
    return 0
  end
  call('HSET', prefix .. K.notes, name, progress)
  if records ~= '' then
    local time = call('TIME')
    local ctx = { call = call, prefix = prefix, now = time[1] + time[2] / 1e6 }
    local _, id = struct.unpack('>dI5', call('HGET', prefix .. K.pages, page))
    results.append(ctx, { id = id }, 0, records, '')
  end
  return 1
end)
