-- Adding links, and the exact depth of everything behind them.

local function within(depth)
  return not R.max_depth or depth <= R.max_depth
end

local function is_shorter(path, depth, hops)
  return path.depth < depth or (path.depth == depth and path.hops < hops)
end

-- Returns those of the URLs that a path brings nearer; they are at hand then.
local function brought_nearer(ids, path)
  local missing, names, nearer = {}, {}, {}
  for _, id in ipairs(ids) do
    if not urls[id] then
      missing[#missing + 1] = id
      names[#missing] = text(id)
    end
  end
  local found = get_many(P .. K.urls, names)
  for i, id in ipairs(missing) do
    if found[i] and not urls[id] then
      local _, _, hops, depth = struct.unpack(HEAD, found[i])
      if is_shorter(path, depth, hops) then
        read_url(id, found[i])
      end
    end
  end
  for _, id in ipairs(ids) do
    local u = urls[id]
    if u and is_shorter(path, u.depth, u.hops) then
      nearer[#nearer + 1] = id
    end
  end
  return nearer
end

-- Brings URLs nearer, and everything that is reached over them; notes in `growth` what changed.
local function relax(ids, path, growth)
  local line, first, last = {}, 1, 0
  for _, id in ipairs(ids) do
    last = last + 1
    line[last] = { id, path }
  end
  local revived = {}
  while first <= last do
    local id, way = line[first][1], line[first][2]
    line[first] = nil
    first = first + 1
    local u = url(id)
    if is_shorter(way, u.depth, u.hops) then
      local nearer = way.depth < u.depth
      u.depth, u.hops, u.parent = way.depth, way.hops, way.parent
      change(u)
      if u.state == const.TOO_DEEP then
        if within(way.depth) then
          stand_in_line(u)
          revived[id] = true
        end
      else
        if u.state == const.QUEUED and nearer then
          growth.overtaking[#growth.overtaking + 1] = id
        end
        if u.page > 0 and nearer then
          growth.nearer[u.page] = u
        end
        local targets = targets_of(u)
        if has(u, REDIRECT) then -- nearest first: these are before those that wait in the line
          local behind = { depth = way.depth, hops = way.hops + 1, parent = id }
          for _, target in ipairs(brought_nearer(targets, behind)) do
            first = first - 1
            line[first] = { target, behind }
          end
        else
          local behind = { depth = way.depth + 1, hops = 0, parent = id }
          for _, target in ipairs(brought_nearer(targets, behind)) do
            last = last + 1
            line[last] = { target, behind }
          end
        end
      end
    end
  end
  return revived
end

-- Looks the links up by their keys, adds those that are new, and returns who was there before.
local function look_up(links, keys, named, host_indexes, path, growth)
  local names, at = {}, {}
  for i, link in ipairs(links) do
    if type(link) == 'string' then
      local j = #at + 1
      at[j] = i
      names[j] = string.sub(keys, j * 16 - 15, j * 16)
    else
      growth.ids[i] = link
    end
  end
  local found, fresh, known, before = get_many(P .. K.known, names), {}, {}, {}
  local line, hids = {}, nil
  for j, name in ipairs(names) do
    local i = at[j]
    local id = found[j] and tonumber(found[j]) or nil
    if id or fresh[name] then
      growth.ids[i] = id or fresh[name]
      before[#before + 1] = i
    else
      hids = hids or meet_hosts(named)
      local u = new_url({
        url = links[i], hid = hids[host_indexes[j]], depth = path.depth, hops = path.hops, parent = path.parent,
        state = growth.state,
      })
      fresh[name], growth.ids[i] = u.id, u.id
      known[#known + 1] = name
      known[#known + 1] = text(u.id)
      if u.state == const.UNSCORED then
        C.unscored = C.unscored + 1
        C.line = C.line + 1
        line[#line + 1] = text(C.line)
        line[#line + 1] = text(u.id)
        growth.new[#growth.new + 1] = i
      end
    end
  end
  in_portions('HSET', P .. K.known, known)
  in_portions('ZADD', P .. K.url_queue, line)
  return before
end

-- Adds links that were found at the end of a path. A link is a number where the caller knows that
-- nothing is new about it, unless the path is shorter than he knows (`checked`).
local function add_links(message, keys, path, forgotten_before, checked)
  local links = message.links
  local growth = { ids = {}, new = {}, nearer = {}, overtaking = {}, finished = {} }
  growth.state = within(path.depth) and const.UNSCORED or const.TOO_DEEP
  local before = look_up(links, keys, message.hosts, message.host_indexes, path, growth)
  if checked then
    for i, link in ipairs(links) do
      if type(link) == 'number' then
        before[#before + 1] = i
      end
    end
  end
  local ids = {}
  for j, i in ipairs(before) do
    ids[j] = text(growth.ids[i])
  end
  local packed, touched, touched_ids = get_many(P .. K.urls, ids), {}, {}
  for j, i in ipairs(before) do
    if packed[j] then -- what is new on this page is not there yet, nor need it be
      local _, _, hops, depth, finished = struct.unpack(HEAD, packed[j])
      growth.finished[i] = finished
      if is_shorter(path, depth, hops) or finished <= forgotten_before then
        if not urls[growth.ids[i]] then
          read_url(growth.ids[i], packed[j])
        end
        touched[#touched + 1] = i
        touched_ids[#touched] = growth.ids[i]
      end
    end
  end
  if #touched > 0 then
    local revived = relax(touched_ids, path, growth)
    for j, i in ipairs(touched) do
      local u = url(touched_ids[j])
      if u.finished <= forgotten_before then
        reopen(u)
        revived[u.id] = true
      end
      if revived[u.id] then
        growth.new[#growth.new + 1] = i
      end
    end
  end
  return growth
end

-- Takes URLs out of their priority queues that may go before others with their new depth.
local function overtake(growth)
  if not R.strict then
    return
  end
  for _, id in ipairs(growth.overtaking) do
    local u = url(id)
    if u.state == const.QUEUED then
      dequeue(host(u.hid), u.score, id)
      stand_in_line(u)
    end
  end
end
