-- The links of a page with very many: a step that added all of them would hold up everybody. The
-- step that settles the page adds the first, and keeps the others in slices; each is added by a step
-- of its own. The worker has them added at once. Where it dies before that the router does, and until
-- then the crawl is not over.

local slices = {}

local text, micros = commands.text, commands.micros

-- The lease under which the page was settled, the place of the slice, and where the worker believed
-- the page to be: depth and hops.
local HEAD = '>I6I2I4B'

-- A slice is so many entries of its list: head, message and keys.
local ENTRIES = 3

local function list_of(ctx, id)
  return ctx.prefix .. K.slices .. text(id)
end

-- Keeps the slices of a page that is settled: messages and keys in turn.
function slices.keep(ctx, u, settled, ...)
  local given, out = { ... }, {}
  for i = 1, #given, 2 do
    out[#out + 1] = struct.pack(
      HEAD, settled.lease, (i + 1) / 2, settled.depth, math.min(settled.hops, const.MOST_HOPS)
    )
    out[#out + 1], out[#out + 2] = given[i], given[i + 1]
  end
  if #out > 0 then
    commands.write(ctx, 'RPUSH', list_of(ctx, u.id), out)
    local unadded = ctx.prefix .. K.unadded
    local added = ctx.call('ZADD', unadded, text(micros(ctx.now)), text(u.id))
    ctx.counts.unadded = ctx.counts.unadded + added
  end
end

-- Adds the next slice of a page, and notes in `growth` what has changed. Returns the lease and the
-- place of the slice, and the path to its links; nil if there is none.
function slices.add_next(ctx, id, growth)
  local key = list_of(ctx, id)
  local slice = ctx.counts.unadded > 0 and ctx.call('LPOP', key, text(ENTRIES))
  if not slice then
    return nil
  end
  local lease, place, depth, hops = struct.unpack(HEAD, slice[1])
  local u = urls.get(ctx, id)
  local path = paths.behind(u, false)
  local is_nearer = u.depth < depth or u.hops < hops
  local revisited_before, message = ctx.now - ctx.rules.revisit_s, cmsgpack.unpack(slice[2])
  links.add(ctx, growth, message, slice[3], path, revisited_before, is_nearer)
  local targets = urls.targets(ctx, u)
  for i = 1, #growth.ids do
    targets[#targets + 1] = growth.ids[i]
  end
  urls.keep_targets(ctx, u, targets)
  urls.change(ctx, u) -- for whoever copies the crawl
  if ctx.call('EXISTS', key) == 0 then
    ctx.call('ZREM', ctx.prefix .. K.unadded, text(id))
    ctx.counts.unadded = ctx.counts.unadded - 1
  end
  return lease, place, path
end

-- Adds all slices of a page, whose links are about to be replaced.
function slices.add_all(ctx, id, growth)
  while ctx.counts.unadded > 0 and ctx.call('EXISTS', list_of(ctx, id)) == 1 do
    local part = links.growth()
    part.nearer, part.overtaking = growth.nearer, growth.overtaking
    slices.add_next(ctx, id, part)
  end
end

-- Returns a page whose worker should have had its slices added long ago; nil if there is none.
function slices.overdue(ctx)
  if ctx.counts.unadded == 0 then
    return nil
  end
  local before = text(micros(ctx.now - ctx.rules.lease_s))
  local found = ctx.call('ZRANGEBYSCORE', ctx.prefix .. K.unadded, '-inf', before, 'LIMIT', '0', '1')
  return found[1] and tonumber(found[1])
end

-- Has the router add all that is left: one of the workers is known to be dead.
function slices.abandon(ctx)
  if ctx.counts.unadded > 0 then
    for _, name in ipairs(ctx.call('ZRANGE', ctx.prefix .. K.unadded, '0', '-1')) do
      ctx.call('ZADD', ctx.prefix .. K.unadded, '0', name)
    end
  end
end

return slices
