-- A page lies where its URL does; the centre knows its content again.

-- Gives up a page whose number is another's: a centre that has lost its last moments gave it twice.
local function unkeep(id, number)
  local packed = call('HGET', P .. K.urls, text(id))
  local u = packed and (urls[id] or read_url(id, packed))
  if not u or u.page ~= number then
    return
  end
  if owner_of(number) == id then
    call('HDEL', P .. K.pages, text(number))
    call('DEL', P .. K.content .. text(number))
  end
  call('HDEL', P .. K.untold, text(number))
  C.pages = C.pages - 1
  u.page = 0
  change(u)
  if u.place == const.FINISHED then
    reopen(u)
  end
end

local function keep_page(u, claim, fetched, record, content)
  local name, other = text(claim.number), owner_of(claim.number)
  if other and other ~= u.id then
    unkeep(other, claim.number) -- whose it is only the centre knows; who is wrong gets another
  end
  call('HSET', P .. K.pages, name, struct.pack('>dI5', fetched, u.id) .. record)
  if R.given then
    call('SET', P .. K.content .. name, content)
    call('ZADD', P .. K.kept, fetched, name)
  else
    local left_ms = math.max(1, math.ceil((fetched + R.ttl_s - now) * 1000))
    call('SET', P .. K.content .. name, content, 'PX', text(math.min(left_ms, const.LONGEST_MS)))
  end
  send(R.partitions, { 'keep', u.id, A.lease, claim.number, fetched, A.digest })
end

-- Returns how many links of the page lead to other domains, wherever these are.
local function links_to_others(own)
  local total = 0
  for i = 1, #A.domains, 2 do
    total = total + (A.domains[i] ~= own and A.domains[i + 1] or 0)
  end
  for _, lot in ipairs(A.abroad) do
    for i = 2, #lot.domains, 2 do
      total = total + lot.domains[i]
    end
  end
  return total
end

-- Adds to the credit of domains: names and amounts in turn.
local function add_credit(amounts)
  for i = 1, #amounts, 2 do
    local before = tonumber(call('HGET', P .. K.credits, amounts[i]) or 0)
    local credit = before + amounts[i + 1]
    call('HSET', P .. K.credits, amounts[i], credit)
    C.credit = math.max(C.credit, credit)
  end
end

-- Shares a page's credit among the other domains of this partition that it links to.
local function share_credit(own, links)
  local amounts, total = {}, links_to_others(own)
  for i = 1, #links, 2 do
    if links[i] ~= own then
      amounts[#amounts + 1] = links[i]
      amounts[#amounts + 1] = links[i + 1] / total
    end
  end
  add_credit(amounts)
end
