-- needs: base urls hosts pace rings agenda desk leases sketches claims links pages letters
-- Takes in the messages of one sender, each of them once and in order. Where one is missing, it
-- stops, unless there is nothing to wait for.
local sender, is_forced = text(A[1]), A[2]
local last = tonumber(call('HGET', P .. K.received, sender) or 0)
for i = 4, #ARGV do
  local number, before = struct.unpack('>I6I6', ARGV[i])
  if before > last and not is_forced then
    break
  end
  if number > last then
    last = number
    take_in(number, cmsgpack.unpack(string.sub(ARGV[i], 13)))
  end
end
call('HSET', P .. K.received, sender, text(last))
told.last, told.posted = last, posted
return done(told)
