-- Takes one of the host's slots for a request without a task. Answers false if it may be sent now,
-- else when to ask again: the slot is kept until then. A host that is always at work would never
-- have one free; but only every other one is kept.

local function promise(ctx, h, moment)
  if not h.taskless_last then
    h.promised = moment + const.PROMISE_S
    hosts.change(ctx, h)
  end
  return moment - ctx.offset
end

local function take(ctx, h)
  h.promised = -const.INF
  h.taskless_last = true
  h.in_progress = h.in_progress + 1
  hosts.change(ctx, h)
  ctx.counts.taken_slots = ctx.counts.taken_slots + 1
  ctx.call('HINCRBY', ctx.prefix .. K.taken_slots, h.key, '1')
  -- who is alive has given it back by then
  ctx.call('ZADD', ctx.prefix .. K.slot_deadlines, ctx.now + ctx.rules.lease_s, h.key)
  agenda.cross_out(ctx, h) -- it may be entered for the end of the promise
  agenda.announce(ctx, h)
end

steps.once('acquire_slot', function(ctx, message)
  local h = hosts.named(ctx, message[1], message[2])
  if h.in_progress >= hosts.slots(ctx, h) then
    return promise(ctx, h, ctx.now + math.max(hosts.delay(ctx, h), const.ASK_AGAIN_S))
  elseif h.next > ctx.now then
    return promise(ctx, h, h.next)
  end
  take(ctx, h)
  return false
end)
