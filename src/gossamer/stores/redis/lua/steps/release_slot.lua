-- Gives a slot without a task back.

steps.once('release_slot', function(ctx, message)
  local h = hosts.named(ctx, message[1], message[2])
  local next_start = feedback.take(ctx, h, message[3])
  local taken = tonumber(ctx.call('HGET', ctx.prefix .. K.taken_slots, h.key) or 0)
  if taken == 0 then -- it was taken back, or given by a server that has forgotten it
    scheduler.end_visit(ctx, h, next_start, 0)
    return true
  elseif taken == 1 then
    ctx.call('HDEL', ctx.prefix .. K.taken_slots, h.key)
    ctx.call('ZREM', ctx.prefix .. K.slot_deadlines, h.key)
  else
    ctx.call('HINCRBY', ctx.prefix .. K.taken_slots, h.key, '-1')
  end
  ctx.counts.taken_slots = ctx.counts.taken_slots - 1
  scheduler.end_visit(ctx, h, next_start)
  return true
end)
