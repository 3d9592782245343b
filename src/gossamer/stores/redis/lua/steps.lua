-- How the steps of the contract become functions of the server. A step gets the context, its
-- message, and the arguments that are bytes; it returns its answer.

local steps = {}

local text = commands.text

local is_bound = false

-- Registers a function under its name in this version of the library.
function steps.register(name, callback, flags)
  register_function({
    function_name = 'gossamer_' .. name .. '_' .. DIGEST,
    callback = function(keys, args)
      if not is_bound then
        bind()
        is_bound = true
      end
      return callback(keys, args)
    end,
    flags = flags,
  })
end

local function answers_of(ctx)
  return ctx.prefix .. K.answers .. ctx.client, text(ctx.number % const.ANSWERS)
end

local function kept_answer(ctx)
  local last = ctx.call('HGET', answers_of(ctx))
  if last and struct.unpack('>I6', last) == ctx.number then
    return last:sub(7)
  end
end

local function keep_answer(ctx, packed)
  local key, slot = answers_of(ctx)
  if ctx.call('HSET', key, slot, struct.pack('>I6', ctx.number) .. packed) == 1 then
    ctx.call('EXPIRE', key, text(const.ANSWERS_S))
  end
end

local function add(name, step, is_once, flags)
  steps.register(name, function(keys, args)
    local ctx = context.new(keys, args)
    local packed = is_once and ctx.is_repeated and kept_answer(ctx)
    if not packed then
      context.read_counters(ctx)
      packed = cmsgpack.pack(step(ctx, cmsgpack.unpack(args[3]), unpack(args, 4)))
      if not flags then
        context.save(ctx)
      end
      if is_once then
        keep_answer(ctx, packed)
      end
    end
    return packed
  end, flags)
end

-- Registers a step that must not happen twice: its answer is kept for a while, in case that the
-- caller did not get it and asks again.
function steps.once(name, step)
  add(name, step, true)
end

-- Registers a step that may happen again without harm.
function steps.repeatable(name, step)
  add(name, step)
end

-- Registers a step that changes nothing, which a replica may carry out as well.
function steps.reading(name, step)
  add(name, step, false, { 'no-writes' })
end

return steps
