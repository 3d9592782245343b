-- The shortest paths: the exact depth of everything, also of what lies behind a new shortcut. That
-- may be a large part of the crawl: one step follows a bounded number of links, and the URLs whose
-- links are left stand in a line, for the next steps.
-- A path has the depth at its end, how many redirects led there from the last link, and the parent.

local paths = {}

local text = commands.text

-- Tells whether a depth is within the limit of a host.
function paths.within(ctx, depth, hid)
  local name = #ctx.rules.host_rules > 0 and hosts.get(ctx, hid).name or ''
  local limit = host_limits.of(ctx, name).max_depth
  return not limit or depth <= limit
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
      names[#missing] = text(id)
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

-- Where a URL stands in the line of those whose links are to be followed: the nearest goes first.
-- Behind the point is how many of its links were followed already.
local function place_in_line(u, done)
  return u.depth * (const.MOST_HOPS + 1) + math.min(u.hops, const.MOST_HOPS) + done / const.MOST_LINKS
end

local function line_up(ctx, u, done)
  local added = ctx.call('ZADD', ctx.prefix .. K.relaxing, place_in_line(u, done), text(u.id))
  ctx.counts.relaxing = ctx.counts.relaxing + added
end

-- Gives a URL a shorter path, and puts it in line: what lies behind it may come nearer, too.
-- Returns whether it was too deep and is not any more.
function paths.shorten(ctx, u, path, growth)
  local is_nearer = path.depth < u.depth
  urls.set_path(ctx, u, path)
  if u.state == const.TOO_DEEP then
    local is_within = paths.within(ctx, path.depth, u.hid)
    if is_within then
      ctx.counts.too_deep = ctx.counts.too_deep - 1
      urls.await_score(ctx, u)
    end
    return is_within
  end
  if is_nearer and u.state == const.QUEUED then
    growth.overtaking[#growth.overtaking + 1] = u.id
  end
  if is_nearer and u.page > 0 then
    growth.nearer[u.page] = u
  end
  if u.attempts > 0 then -- else it has no links so far
    line_up(ctx, u, 0)
  end
  return false
end

-- Follows links of a URL, at most so many; returns how many.
local function follow(ctx, u, done, most, growth)
  local targets, is_redirect, ahead = urls.targets(ctx, u), urls.is_redirect(u), {}
  for i = done + 1, math.min(#targets, done + most) do
    ahead[#ahead + 1] = targets[i]
  end
  local behind = paths.behind(u, is_redirect)
  for _, id in ipairs(brought_nearer(ctx, ahead, behind)) do
    local target = urls.get(ctx, id)
    if is_shorter(behind, target.depth, target.hops) then -- it may be linked to twice
      paths.shorten(ctx, target, behind, growth)
    end
  end
  if done + #ahead < #targets then
    line_up(ctx, u, done + #ahead)
  end
  return #ahead
end

local function links_done(place)
  return math.floor(place % 1 * const.MOST_LINKS + 0.5)
end

-- Follows the links of URLs that have come nearer, the nearest first, as far as one step goes;
-- notes in `growth` what has changed. Returns how much that was: 0 only if nothing is in line.
function paths.relax(ctx, growth)
  local left, counts = ctx.rules.relaxed_at_once, ctx.counts
  while left > 0 and counts.relaxing > 0 do
    local first = ctx.call('ZPOPMIN', ctx.prefix .. K.relaxing)
    counts.relaxing = counts.relaxing - 1
    local u, done = urls.get(ctx, tonumber(first[1])), links_done(tonumber(first[2]))
    left = left - math.max(1, follow(ctx, u, done, left, growth))
  end
  return ctx.rules.relaxed_at_once - left
end

-- Follows all links of a URL that are not followed yet: they are about to be replaced.
function paths.follow_whole(ctx, u, growth)
  if ctx.counts.relaxing > 0 then
    local place = ctx.call('ZSCORE', ctx.prefix .. K.relaxing, text(u.id))
    if place then
      follow(ctx, u, links_done(tonumber(place)), const.MOST_LINKS, growth)
    end
  end
end

return paths
