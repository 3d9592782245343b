-- How the steps of the contract become functions of the server. A step gets the context, its
-- message, and the arguments that are bytes; it returns its answer.

local steps = {}

local text = commands.text

-- Registers a function under its name in this version of the library.
function steps.register(name, callback, flags)
  redis.register_function({
    function_name = 'gossamer_' .. name .. '_' .. DIGEST,
    callback = callback,
    flags = flags,
  })
end

-- Returns the counters to read: those that every step needs, and its own.
local function with_own(own)
  local names = { 'server', 'unsure' }
  for i = 1, #own do
    names[#names + 1] = own[i]
  end
  return names
end

local function run(ctx, args, names, step)
  context.read_counters(ctx, names)
  return step(ctx, cmsgpack.unpack(args[3]), unpack(args, 4))
end

local function kept_answer(ctx)
  local key, slot = ctx.prefix .. K.answers .. ctx.client, text(ctx.number % const.ANSWERS)
  local last = ctx.call('HGET', key, slot)
  if last and struct.unpack('>I6', last) == ctx.number then
    return last:sub(7)
  end
end

local function keep_answer(ctx, packed)
  local key, slot = ctx.prefix .. K.answers .. ctx.client, text(ctx.number % const.ANSWERS)
  if ctx.call('HSET', key, slot, struct.pack('>I6', ctx.number) .. packed) == 1 then
    ctx.call('EXPIRE', key, text(const.ANSWERS_S))
  end
end

-- Registers a step that must not happen twice: its answer is kept for a while, in case that the
-- caller did not get it and asks again. `own`: the counters that it nearly always needs.
function steps.once(name, own, step)
  local names = with_own(own)
  steps.register(name, function(keys, args)
    local ctx = context.new(keys, args)
    local packed = ctx.is_repeated and kept_answer(ctx)
    if not packed then
      packed = cmsgpack.pack(run(ctx, args, names, step))
      context.save(ctx)
      keep_answer(ctx, packed)
    end
    return packed
  end)
end

-- Registers a step that may happen again without harm.
function steps.repeatable(name, own, step)
  local names = with_own(own)
  steps.register(name, function(keys, args)
    local ctx = context.new(keys, args)
    local answer = run(ctx, args, names, step)
    context.save(ctx)
    return cmsgpack.pack(answer)
  end)
end

-- Registers a step that changes nothing, which a replica may carry out as well.
function steps.reading(name, own, step)
  local names = with_own(own)
  steps.register(name, function(keys, args)
    return cmsgpack.pack(run(context.new(keys, args), args, names, step))
  end, { 'no-writes' })
end

return steps
