-- Adding links: those that nobody knew become URLs, those that are known may come nearer.

local links = {}

local text, get_many, write = commands.text, commands.get_many, commands.write

local KEY_BYTES = 16

-- What is kept under the key of a URL: its id, and how far it was when it was found, depth and hops.
-- It only ever comes nearer: a longer path than that need not be compared with its record.
local FOUND = '>I5I4B'

-- Returns what takes note of changes: the ids of the links, and the places of those that came as
-- URLs; which of them are new; when those were done that are not, and how far they are; the pages
-- that have come nearer; and URLs that may overtake others.
function links.growth()
  return {
    ids = {}, at = {}, new = {}, finished = {}, depths = {}, hops = {}, nearer = {}, overtaking = {},
  }
end

-- Returns the keys of those links that came as URLs, which have no id so far.
local function keys_of(ids, keys, growth)
  local names, at, count, sub = {}, growth.at, 0, string.sub
  for i = 1, #ids do
    if ids[i] == 0 then
      local first = count * KEY_BYTES
      count = count + 1
      at[count], names[count] = i, sub(keys, first + 1, first + KEY_BYTES)
    end
  end
  return names
end

-- Returns the scores that came with links, by their place among those that came as URLs.
local function scores_of(message)
  local scores = {}
  for i = 1, #message.scores, 2 do
    scores[message.scores[i]] = message.scores[i + 1]
  end
  return scores
end

-- Tells whether another URL of a host may become known, and counts it in `hosts_met`. While there
-- are few URLs in all, no host can have too many.
local function has_room(ctx, hosts_met, hid, path, may_be_full)
  local host = hosts_met[hid]
  if not host then
    local before = may_be_full and ctx.call('HGET', ctx.prefix .. K.host_urls, text(hid))
    host = { before = tonumber(before or 0), added = 0 }
    hosts_met[hid] = host
  end
  if path.parent > 0 and may_be_full and host.before + host.added >= ctx.rules.max_host_urls then
    ctx.counts.over_host_urls = ctx.counts.over_host_urls + 1
    return false
  end
  host.added = host.added + 1
  return true
end

local function count_urls(ctx, hosts_met)
  for hid, host in pairs(hosts_met) do
    if host.added > 0 then
      ctx.call('HINCRBY', ctx.prefix .. K.host_urls, text(hid), text(host.added))
    end
  end
end

-- Adds a URL that nobody knew; `j` is its place among those that came as URLs.
local function add_new(ctx, message, j, hid, path, scores)
  local state = paths.within(ctx, path.depth, hid) and const.UNSCORED or const.TOO_DEEP
  local u = urls.new(ctx, message.urls[j], hid, path, state)
  if scores[j] then
    urls.give_score(ctx, u, scores[j])
  end
  if message.listings[j] then
    urls.keep_listing(ctx, u, message.listings[j])
  end
  return u
end

-- Looks the links up by their keys, adds those that are new, and returns the places of those that
-- are known and may have come nearer, or may be visited again.
local function look_up(ctx, message, keys, path, growth, may_revisit)
  growth.ids = message.links
  local names, at = keys_of(growth.ids, keys, growth), growth.at
  local found, fresh, before, hids = get_many(ctx, ctx.prefix .. K.known, names), {}, {}, nil
  local count, known, line, hosts_met = 0, {}, {}, {}
  local counts, scores = ctx.counts, scores_of(message)
  local may_be_full = counts.urls + #names > ctx.rules.max_host_urls
  for j = 1, #names do
    local i, name = at[j], names[j]
    if found[j] then
      local id, depth, hops = struct.unpack(FOUND, found[j])
      growth.ids[i], growth.depths[i], growth.hops[i] = id, depth, hops
      if may_revisit or paths.is_shorter(path, depth, hops) then
        count = count + 1
        before[count] = i
      end
    elseif fresh[name] then
      growth.ids[i] = fresh[name]
    else
      hids = hids or hosts.meet(ctx, message.hosts)
      local hid = hids[message.host_indexes[j]]
      local u = has_room(ctx, hosts_met, hid, path, may_be_full)
        and add_new(ctx, message, j, hid, path, scores)
      growth.ids[i] = u and u.id or 0 -- 0: it is left out
      if u then
        local place = struct.pack(FOUND, u.id, path.depth, math.min(path.hops, const.MOST_HOPS))
        fresh[name] = u.id
        known[#known + 1] = name
        known[#known + 1] = place
      end
      if u and u.state == const.UNSCORED then
        counts.unscored = counts.unscored + 1
        counts.line = counts.line + 1
        line[#line + 1] = text(counts.line)
        line[#line + 1] = text(u.id)
        growth.new[#growth.new + 1] = i
      end
    end
  end
  count_urls(ctx, hosts_met)
  write(ctx, 'HSET', ctx.prefix .. K.known, known)
  write(ctx, 'ZADD', ctx.prefix .. K.url_queue, line)
  return before
end

-- Returns those of the known links that come nearer, or were done before the moment. With
-- `message.again` it is not important when they were done.
local function affected(ctx, before, path, forgotten_before, again, growth)
  local touched, names = {}, {}
  for j = 1, #before do
    names[j] = text(growth.ids[before[j]])
  end
  local packed = get_many(ctx, ctx.prefix .. K.urls, names)
  for j = 1, #before do
    if packed[j] then -- else it is in the quarantine
      local i = before[j]
      local depth, hops, finished = urls.read_head(packed[j])
      growth.finished[i], growth.depths[i], growth.hops[i] = finished, depth, hops
      local is_forgotten = finished <= forgotten_before or (again and finished < const.INF)
      if paths.is_shorter(path, depth, hops) or is_forgotten then
        if not ctx.urls[growth.ids[i]] then
          urls.read(ctx, growth.ids[i], packed[j])
        end
        touched[#touched + 1] = i
      end
    end
  end
  return touched
end

-- Adds links that were found at the end of a path. A link has an id where the caller knows that
-- nothing is new about it, unless the path is shorter than the caller knows (`check_all`). Those
-- that were done before the moment are visited again, and with `message.again` one that has only
-- redirected once. What has changed is noted in `growth`.
function links.add(ctx, growth, message, keys, path, forgotten_before, check_all)
  local may_revisit = forgotten_before > -const.INF or message.again
  local before = look_up(ctx, message, keys, path, growth, may_revisit)
  if check_all then
    local came_as_url = {}
    for _, i in ipairs(growth.at) do
      came_as_url[i] = true
    end
    for i = 1, #growth.ids do
      if not came_as_url[i] then
        before[#before + 1] = i
      end
    end
  end
  local revived = {}
  local touched = affected(ctx, before, path, forgotten_before, message.again, growth)
  for _, i in ipairs(touched) do
    local u = urls.get(ctx, growth.ids[i])
    if paths.is_shorter(path, u.depth, u.hops) then
      revived[u.id] = paths.shorten(ctx, u, path, growth)
    end
  end
  for _, i in ipairs(touched) do
    local u = urls.get(ctx, growth.ids[i])
    local is_due = u.finished <= forgotten_before and u.attempts < const.MAX_ATTEMPTS
    if is_due or (message.again and urls.has_redirected_once(u)) then
      urls.reopen(ctx, u)
      revived[u.id] = true
    end
    if revived[u.id] then
      growth.new[#growth.new + 1] = i
    end
  end
end

-- Returns for each link that came as a URL its id, and how far it is: depth, and how many redirects
-- behind the last link. And, where pages are visited again, when it was done (0: it is not).
function links.learnt(ctx, growth, path)
  local learnt, count, is_revisiting = {}, 0, ctx.rules.revisit_s < const.INF
  local finished = is_revisiting and {} or nil
  for j, i in ipairs(growth.at) do
    local depth, hops = growth.depths[i], growth.hops[i]
    if not depth or paths.is_shorter(path, depth, hops) then
      depth, hops = path.depth, path.hops
    end
    learnt[count + 1] = growth.ids[i]
    learnt[count + 2] = depth * (const.MOST_HOPS + 1) + math.min(hops, const.MOST_HOPS)
    count = count + 2
    if is_revisiting then
      local at = growth.finished[i]
      finished[j] = at and at < const.INF and at - ctx.offset or 0
    end
  end
  return learnt, finished
end

-- Notes which pages have come nearer, for the modules; returns them with their depth.
local function note_nearer(ctx, growth)
  local nearer = {}
  for page, u in pairs(growth.nearer) do
    ctx.call('HSET', ctx.prefix .. K.depth_changes, text(page), text(u.id))
    nearer[#nearer + 1] = { page, u.depth }
  end
  return nearer
end

-- Takes URLs out of their priority queues that may go before others with their new depth.
local function overtake(ctx, growth)
  if not ctx.rules.strict then
    return
  end
  for _, id in ipairs(growth.overtaking) do
    local u = urls.get(ctx, id)
    if u.state == const.QUEUED then
      scheduler.dequeue(ctx, hosts.get(ctx, u.hid), u)
      urls.await_score(ctx, u)
    end
  end
end

-- Follows up shorter paths, as far as one step goes, also to the queues and to the modules. Returns
-- the pages that have come nearer, with their depth, and how many links were followed.
function links.grow(ctx, growth)
  local followed = paths.relax(ctx, growth)
  overtake(ctx, growth)
  return note_nearer(ctx, growth), followed
end

return links
