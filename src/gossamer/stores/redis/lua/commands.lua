-- Commands with any number of arguments, and numbers as the server reads them quickest.

local commands = {}

-- Lua's stack has its bounds: more arguments than these go in several commands.
local AT_ONCE = 2000

-- Returns a whole number as text. Left to itself Redis writes every number as one with a fraction,
-- which takes it longer than what it is then asked to do.
function commands.text(number)
  return ('%d'):format(number)
end

-- Returns a moment in whole microseconds, for sorted sets that only Lua reads: the server keeps a
-- small one as a list, in which it compares whole numbers several times as fast as fractions.
function commands.micros(moment)
  return math.floor(moment * 1e6)
end

-- Writes a list with one command, or with several if it is long.
function commands.write(ctx, command, key, list)
  local count = #list
  for first = 1, count, AT_ONCE do
    ctx.call(command, key, unpack(list, first, math.min(first + AT_ONCE - 1, count)))
  end
end

-- Returns the values of a hash under these fields, in their order.
function commands.get_many(ctx, key, fields)
  local count = #fields
  if count <= AT_ONCE then
    return count > 0 and ctx.call('HMGET', key, unpack(fields)) or {}
  end
  local found = {}
  for first = 1, count, AT_ONCE do
    local last = math.min(first + AT_ONCE - 1, count)
    local part = ctx.call('HMGET', key, unpack(fields, first, last))
    for i = 1, last - first + 1 do
      found[first + i - 1] = part[i]
    end
  end
  return found
end

return commands
