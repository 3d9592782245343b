-- Moves URLs from the URL queue into the priority queues; moved ones are left alone.

steps.repeatable('prioritise', function(ctx, message)
  local counts, ids, moved = ctx.counts, {}, {}
  for i, one in ipairs(message) do
    ids[i] = one[1]
  end
  urls.fetch(ctx, ids)
  for _, one in ipairs(message) do
    local u = urls.get(ctx, one[1])
    if u.state == const.UNSCORED then
      counts.unscored = counts.unscored - 1
      moved[#moved + 1] = commands.text(u.id)
      urls.set_score(ctx, u, one[2])
      scheduler.queue(ctx, hosts.get(ctx, u.hid), u)
    end
  end
  commands.write(ctx, 'ZREM', ctx.prefix .. K.url_queue, moved)
  return true
end)
