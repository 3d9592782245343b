-- The shortest paths: the exact depth of everything, also of what lies behind a new shortcut.
-- A path has the depth at its end, how many redirects led there from the last link, and the parent.

local paths = {}

-- Tells whether a depth is within the limit.
function paths.within(ctx, depth)
  return not ctx.rules.max_depth or depth <= ctx.rules.max_depth
end

local function is_shorter(path, depth, hops)
  return path.depth < depth or (path.depth == depth and path.hops < hops)
end

paths.is_shorter = is_shorter

-- Returns the path to what a URL links to, or redirects to.
function paths.behind(u, is_redirect)
  if is_redirect then
    return { depth = u.depth, hops = u.hops + 1, parent = u.id }
  end
  return { depth = u.depth + 1, hops = 0, parent = u.id }
end

-- Returns those of the URLs that a path brings nearer; they are at hand then.
local function brought_nearer(ctx, ids, path)
  local missing, names, nearer = {}, {}, {}
  for _, id in ipairs(ids) do
    if not ctx.urls[id] then
      missing[#missing + 1] = id
      names[#missing] = commands.text(id)
    end
  end
  local found = commands.get_many(ctx, ctx.prefix .. K.urls, names)
  for i, id in ipairs(missing) do
    if found[i] and not ctx.urls[id] and is_shorter(path, urls.read_head(found[i])) then
      urls.read(ctx, id, found[i])
    end
  end
  for _, id in ipairs(ids) do
    local u = ctx.urls[id]
    if u and is_shorter(path, u.depth, u.hops) then
      nearer[#nearer + 1] = id
    end
  end
  return nearer
end

-- Gives a URL a shorter path; returns whether what lies behind it may come nearer, too.
local function shorten(ctx, u, path, growth, revived)
  local is_nearer = path.depth < u.depth
  urls.set_path(ctx, u, path)
  if u.state == const.TOO_DEEP then
    if paths.within(ctx, path.depth) then
      ctx.counts.too_deep = ctx.counts.too_deep - 1
      urls.await_score(ctx, u)
      revived[u.id] = true
    end
    return false
  end
  if is_nearer and u.state == const.QUEUED then
    growth.overtaking[#growth.overtaking + 1] = u.id
  end
  if is_nearer and u.page > 0 then
    growth.nearer[u.page] = u
  end
  return true
end

-- Brings URLs nearer, and everything that is reached over them; notes in `growth` what has changed.
-- Returns the set of URLs that are no longer too deep.
function paths.relax(ctx, ids, path, growth)
  local line, first, last, revived = {}, 1, #ids, {}
  for i = 1, last do
    line[i] = { ids[i], path }
  end
  while first <= last do
    local u, way = urls.get(ctx, line[first][1]), line[first][2]
    line[first] = nil
    first = first + 1
    if is_shorter(way, u.depth, u.hops) and shorten(ctx, u, way, growth, revived) then
      local is_redirect = urls.is_redirect(u)
      local behind = paths.behind(u, is_redirect)
      for _, target in ipairs(brought_nearer(ctx, urls.targets(ctx, u), behind)) do
        if is_redirect then -- nearest first: these go before those that wait in the line
          first = first - 1
          line[first] = { target, behind }
        else
          last = last + 1
          line[last] = { target, behind }
        end
      end
    end
  end
  return revived
end

return paths
