-- Notes that the modules know the depth of these pages.

steps.repeatable('confirm_depth_changes', function(ctx, message)
  for _, one in ipairs(message) do
    local page, depth = commands.text(one[1]), one[2]
    local id = ctx.call('HGET', ctx.prefix .. K.depth_changes, page)
    if id and urls.get(ctx, tonumber(id)).depth == depth then
      ctx.call('HDEL', ctx.prefix .. K.depth_changes, page)
    end
  end
  return true
end)
