-- Who was refused because of a claim is told when it is dropped; his partition knows what to do.

local function visit_again(duplicate, number)
  send(duplicate % R.partitions, { 'void', duplicate, number })
end

-- Claims a number that the URL has had.
local function claim_again(id, number, digest, bands)
  call('HDEL', P .. K.pages, text(number))
  call('HSET', P .. K.claims, text(id), struct.pack(CLAIM, number, #digest) .. digest .. bands)
  call('SET', P .. K.digest .. digest, struct.pack('>dI5I5', 0, number, id))
end

-- A page that its own partition has lost is kept again under its number.
local function answer_twin(id, twin, holder, similarity)
  local digest, bands, sample = ARGV[4], ARGV[5], ARGV[6]
  if holder > 0 or owner_of(twin) ~= id then
    return refuse_anew(id, twin, holder, similarity)
  end
  drop_claim(id)
  claim_again(id, twin, digest, bands)
  if #bands > 0 then
    forget_sketch(twin, bands)
    keep_sketch(twin, id, bands, sample)
  end
  return done({ page_id = twin })
end
