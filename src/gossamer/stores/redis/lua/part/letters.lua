-- What others send to a partition.

-- What the step has to tell: links that wait now and did not before, pages that came nearer.
local told = { new = {}, nearer = {} }

local function note_growth(growth, number)
  for _, place in ipairs(growth.new) do
    told.new[#told.new + 1] = { number, place }
  end
  for page, u in pairs(growth.nearer) do
    call('HSET', P .. K.untold, text(page), text(u.id))
    told.nearer[#told.nearer + 1] = { page, u.depth }
  end
  overtake(growth)
end

local function come_nearer(keys, path)
  local ids, growth = {}, { new = {}, nearer = {}, overtaking = {} }
  for _, id in ipairs(get_many(P .. K.known, keys)) do
    ids[#ids + 1] = id and tonumber(id) or nil
  end
  relax(brought_nearer(ids, path), path, growth)
  return growth
end

-- Lets a URL be visited again that was refused because of a claim which was given up.
local function make_void(id, number)
  local packed = call('HGET', P .. K.urls, text(id))
  local u = packed and (urls[id] or read_url(id, packed))
  if u and u.place == const.IN_WORK then
    call('HSET', P .. K.voided, text(id), text(number))
  elseif u and u.place == const.FINISHED and u.twin == number then
    reopen(u)
  end
end

local function take_in(number, message)
  local kind = message[1]
  if kind == 'links' then
    note_growth(add_links(message[3], message[4], message[2], now - R.ttl_s, true), number)
    add_credit(message[5])
  elseif kind == 'nearer' then
    note_growth(come_nearer(message[3], message[2]), number)
  elseif kind == 'void' then
    make_void(message[2], message[3])
  else
    unkeep(message[2], message[3])
  end
  save_urls() -- the next message may be about the same ones
  changed_urls = {}
end
