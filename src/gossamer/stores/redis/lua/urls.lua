-- The records of URLs: one packed string each, read when first needed, written at the end.

local urls = {}

local text, get_many, write = commands.text, commands.get_many, commands.write

-- Version, state, hops, depth and end of a URL; and its whole record, without the text.
local HEAD, RECORD = '>BBBI4d', '>BBBI4dI4I5HBBdI5I5HHdI3'

-- For how long changes are noted for whoever copies the crawl.
local NOTED_S = '3600'

local function change(ctx, u)
  ctx.changed_urls[u.id] = u
end

urls.change = change

-- Reads a record; the URL is at hand then.
function urls.read(ctx, id, packed)
  if not packed then
    error('there is no URL ' .. id)
  end
  local _, state, hops, depth, finished, hid, parent, attempts, deaths, flags, score, page,
    duplicate_of, similarity, own_similarity, found, length = struct.unpack(RECORD, packed)
  local size = const.RECORD_SIZE
  local u = {
    id = id, state = state, hops = hops, depth = depth, finished = finished, hid = hid,
    parent = parent, attempts = attempts, deaths = deaths, flags = flags, score = score,
    page = page, duplicate_of = duplicate_of, similarity = similarity,
    own_similarity = own_similarity, found = found,
    url = packed:sub(size + 1, size + length), tail = packed:sub(size + length + 1),
  }
  ctx.urls[id] = u
  return u
end

-- Returns depth, hops and end of a URL without reading the rest of its record.
function urls.read_head(packed)
  local _, _, hops, depth, finished = struct.unpack(HEAD, packed)
  return depth, hops, finished
end

-- Tells whether a record is one of ours.
function urls.is_sound(packed)
  local size = const.RECORD_SIZE
  if not packed or #packed <= size or packed:byte() ~= const.RECORD_VERSION then
    return false
  end
  local length = struct.unpack('>I3', packed, size - 2)
  return packed:byte(2) <= const.TOO_DEEP and #packed >= size + length
end

-- Puts an unscored URL aside whose record nobody can read, instead of failing on it for ever.
function urls.quarantine(ctx, id, packed)
  ctx.call('RPUSH', ctx.prefix .. K.quarantine, cmsgpack.pack({ K.urls, id, packed or '' }))
  ctx.call('ZREM', ctx.prefix .. K.url_queue, id)
  ctx.call('HDEL', ctx.prefix .. K.urls, id)
  ctx.counts.unscored = ctx.counts.unscored - 1
  ctx.counts.broken = ctx.counts.broken + 1
end

function urls.get(ctx, id)
  return ctx.urls[id] or urls.read(ctx, id, ctx.call('HGET', ctx.prefix .. K.urls, text(id)))
end

-- Returns a URL, as far as its record can be read.
local function find(ctx, id)
  if ctx.urls[id] then
    return ctx.urls[id]
  end
  local packed = ctx.call('HGET', ctx.prefix .. K.urls, text(id))
  return urls.is_sound(packed) and urls.read(ctx, id, packed) or nil
end

-- Returns the last URLs before another on its path, up to a count; nil if there are none.
function urls.before(ctx, u, count)
  local found = {}
  while u and u.parent > 0 and #found < count do
    u = find(ctx, u.parent)
    if u then
      table.insert(found, 1, u.url)
    end
  end
  return #found > 0 and found or nil
end

-- Reads several at once, which are then at hand.
function urls.fetch(ctx, ids)
  local names = {}
  for i = 1, #ids do
    names[i] = text(ids[i])
  end
  local found = get_many(ctx, ctx.prefix .. K.urls, names)
  for i = 1, #ids do
    if not ctx.urls[ids[i]] then
      urls.read(ctx, ids[i], found[i])
    end
  end
end

-- Adds a URL; the caller sees to it that it is known by its key, and queued.
function urls.new(ctx, text_of_url, hid, path, state)
  local counts = ctx.counts
  counts.urls = counts.urls + 1
  local u = {
    id = counts.urls, state = state, hops = path.hops, depth = path.depth, finished = const.INF,
    hid = hid, parent = path.parent, attempts = 0, deaths = 0, flags = 0, score = 0, page = 0,
    duplicate_of = 0, similarity = 0, own_similarity = 0, found = ctx.now, url = text_of_url, tail = '',
  }
  ctx.urls[u.id] = u
  change(ctx, u)
  counters.count_depth(ctx, 'urls', u.depth, 1)
  if state == const.TOO_DEEP then
    counts.too_deep = counts.too_deep + 1
  end
  return u
end

local function has(u, flag)
  return u.flags % (2 * flag) >= flag
end

local function set(u, flag, wanted)
  if has(u, flag) ~= wanted then
    u.flags = u.flags + (wanted and flag or -flag)
  end
end

-- Keeps what a sitemap says of a new URL: lastmod, priority, and of what it is a sitemap itself
-- (`PackedListing` in records.py).
function urls.keep_listing(ctx, u, listing)
  set(u, const.LISTED, true)
  ctx.call('HSET', ctx.prefix .. K.listings, text(u.id), cmsgpack.pack(listing))
  if listing[3] then
    ctx.call('HINCRBY', ctx.prefix .. K.sitemaps, listing[3], '1')
  end
end

-- Returns that; false if there is nothing.
function urls.listing(ctx, u)
  local packed = has(u, const.LISTED) and ctx.call('HGET', ctx.prefix .. K.listings, text(u.id))
  return packed and cmsgpack.unpack(packed)
end

function urls.is_redirect(u)
  return has(u, const.REDIRECT)
end

-- Keeps the score that came with the link by which a URL was first found.
function urls.give_score(ctx, u, score)
  set(u, const.GIVEN_SCORE, true)
  ctx.call('HSET', ctx.prefix .. K.given_scores, text(u.id), score)
end

-- Returns that score; nil if there is none.
function urls.given_score(ctx, u)
  if has(u, const.GIVEN_SCORE) then
    return tonumber(ctx.call('HGET', ctx.prefix .. K.given_scores, text(u.id)) or 0)
  end
end

-- Gives a URL its score.
function urls.set_score(ctx, u, score)
  u.score = score
  set(u, const.SCORED, true)
  change(ctx, u)
end

-- In the queues a URL is named so that equal scores go in the order of discovery.
function urls.name_of(id)
  return struct.pack('>I5', id)
end

function urls.id_of(name)
  return (struct.unpack('>I5', name))
end

-- Puts a URL into the URL queue, where it waits for its score.
function urls.await_score(ctx, u)
  local counts = ctx.counts
  u.state = const.UNSCORED
  set(u, const.SCORED, false)
  counts.unscored = counts.unscored + 1
  counts.line = counts.line + 1
  ctx.call('ZADD', ctx.prefix .. K.url_queue, text(counts.line), text(u.id))
  change(ctx, u)
end

-- Moves a URL to another state in which it waits or is worked on.
function urls.move_to(ctx, id, state)
  local u = urls.get(ctx, id)
  u.state = state
  change(ctx, u)
  return u
end

-- Notes an attempt: moment, outcome, cause, detail and status.
function urls.add_attempt(ctx, u, attempt)
  local counts, moment = ctx.counts, attempt[1]
  u.attempts = u.attempts + 1
  u.tail = u.tail .. cmsgpack.pack(attempt)
  change(ctx, u)
  -- a clock that is set back, or that of another server, may be behind
  if counts.started == 0 or moment < counts.started then
    counts.started = moment
  end
  if moment > counts.last then
    counts.last = moment
  end
end

-- Returns the last attempt at a URL that is done.
local function last_attempt(u)
  local attempts = { cmsgpack.unpack(u.tail) }
  return attempts[#attempts]
end

-- Returns the outcome of a URL that is done.
function urls.outcome(u)
  return last_attempt(u)[2]
end

-- Tells whether a URL that is done has redirected once, and never again after that.
function urls.has_redirected_once(u)
  if u.state ~= const.DONE then
    return false
  end
  local times, last = 0, nil
  for _, attempt in ipairs({ cmsgpack.unpack(u.tail) }) do
    last = attempt[2]
    times = times + (last == const.REDIRECTED and 1 or 0)
  end
  return times == 1 and last == const.REDIRECTED
end

-- Counts a URL that is done by its reason, which its last attempt tells (reasons.py).
local function count_reason(ctx, attempt, by)
  local reason, cause, status = attempt[2], attempt[3], attempt[5]
  if cause ~= '' then
    reason = reason .. ':' .. cause .. ':' .. (status and text(status) or '')
  end
  ctx.call('HINCRBY', ctx.prefix .. K.outcomes, reason, by)
end

-- Ends a URL with its last attempt; `page` and `duplicate_of` are numbers of pages, or 0. A page
-- that it has stays.
function urls.finish(ctx, u, attempt, page, duplicate_of, is_redirect)
  u.state, u.finished, u.duplicate_of = const.DONE, ctx.now, duplicate_of
  u.similarity, u.own_similarity = 0, 0
  set(u, const.REDIRECT, is_redirect)
  if page > 0 and u.page == 0 then
    u.page = page
    counters.count_depth(ctx, 'pages', u.depth, 1)
  end
  change(ctx, u)
  counters.count_depth(ctx, 'done', u.depth, 1)
  count_reason(ctx, attempt, '1')
end

-- Notes how similar a URL is to the page that it repeats.
function urls.set_likeness(u, similarity, own_similarity)
  u.similarity, u.own_similarity = similarity, own_similarity
end

-- Lets a URL that is done be visited again.
function urls.reopen(ctx, u)
  count_reason(ctx, last_attempt(u), '-1')
  counters.count_depth(ctx, 'done', u.depth, -1)
  u.duplicate_of, u.similarity, u.own_similarity, u.finished = 0, 0, 0, const.INF
  urls.await_score(ctx, u)
end

local function count_at_depth(ctx, u, by)
  counters.count_depth(ctx, 'urls', u.depth, by)
  if u.page > 0 then
    counters.count_depth(ctx, 'pages', u.depth, by)
  end
  if u.state == const.DONE then
    counters.count_depth(ctx, 'done', u.depth, by)
  end
end

-- Gives a URL another path; it is counted at its new depth then.
function urls.set_path(ctx, u, path)
  local is_moved = path.depth ~= u.depth
  if is_moved then
    count_at_depth(ctx, u, -1)
  end
  u.depth, u.hops, u.parent = path.depth, path.hops, path.parent
  if is_moved then
    count_at_depth(ctx, u, 1)
  end
  change(ctx, u)
end

-- Returns the ids of the URLs that the links of a URL lead to.
function urls.targets(ctx, u)
  local packed = ctx.call('HGET', ctx.prefix .. K.targets, text(u.id))
  if not packed then
    return {}
  end
  local ids, last = cmsgpack.unpack(packed), 0
  for i = 1, #ids do
    last = last + ids[i]
    ids[i] = last
  end
  return ids
end

-- Keeps where the links of a URL lead, as steps from id to id; 0 stands for one that was left out.
function urls.keep_targets(ctx, u, ids)
  local steps, last = {}, 0
  for i = 1, #ids do
    if ids[i] > 0 then
      steps[#steps + 1] = ids[i] - last
      last = ids[i]
    end
  end
  if #steps == 0 then
    ctx.call('HDEL', ctx.prefix .. K.targets, text(u.id))
    return
  end
  ctx.call('HSET', ctx.prefix .. K.targets, text(u.id), cmsgpack.pack(steps))
end

-- Tells whoever copies the crawl at the moment which URLs to read once more.
local function note_changes(ctx, written)
  if ctx.call('EXISTS', ctx.prefix .. K.watched) == 0 then
    return
  end
  local step, out = ctx.call('INCR', ctx.prefix .. K.watched), {}
  for i = 1, #written, 2 do
    out[i], out[i + 1] = step, written[i]
  end
  write(ctx, 'ZADD', ctx.prefix .. K.changed, out)
  ctx.call('EXPIRE', ctx.prefix .. K.changed, NOTED_S)
end

-- Writes the records that have changed.
function urls.save(ctx)
  local out, count = {}, 0
  for id, u in pairs(ctx.changed_urls) do
    out[count + 1] = text(id)
    out[count + 2] = struct.pack(
      RECORD, const.RECORD_VERSION, u.state, math.min(u.hops, const.MOST_HOPS), u.depth, u.finished,
      u.hid, u.parent, u.attempts, u.deaths, u.flags, u.score, u.page, u.duplicate_of,
      u.similarity, u.own_similarity, u.found, #u.url
    ) .. u.url .. u.tail
    count = count + 2
  end
  if count > 0 then
    write(ctx, 'HSET', ctx.prefix .. K.urls, out)
    note_changes(ctx, out)
  end
end

return urls
