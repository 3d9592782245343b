-- Answers how many hosts wait for a worker that has time for them: those that could have been asked
-- a while ago, and the shared ones of which URLs wait.

steps.reading('ready_hosts', function(ctx)
  local late = commands.text(commands.micros(ctx.now - const.LATE_S))
  local count = ctx.call('SCARD', ctx.prefix .. K.served .. commands.text(const.ANYONE))
  for _, worker in ipairs(ctx.call('ZRANGE', ctx.prefix .. K.seen, '0', '-1')) do
    count = count + ctx.call('ZCOUNT', ctx.prefix .. K.agenda .. worker, '-inf', late)
    count = count + ctx.call('ZCOUNT', ctx.prefix .. K.unproven .. worker, '-inf', late)
    if ctx.rules.strict then -- these were due when they were last considered
      count = count + ctx.call('ZCARD', ctx.prefix .. K.ready .. worker)
      count = count + ctx.call('ZCARD', ctx.prefix .. K.unproven_ready .. worker)
    end
  end
  return count
end)
