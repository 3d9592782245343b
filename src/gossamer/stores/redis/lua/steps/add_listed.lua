-- Adds URLs that a sitemap lists, and answers how many are new; false if its lease is not the newest.

-- Leaves out the sitemaps that are new and more than their domain may have. All have one score.
local function within_limit(ctx, message, keys)
  local domain, score = message.listings[1][3], message.scores[2]
  local count = tonumber(ctx.call('HGET', ctx.prefix .. K.sitemaps, domain) or 0)
  local kept = { links = {}, urls = {}, host_indexes = {}, listings = {}, scores = {} }
  local kept_keys = {}
  kept.hosts = message.hosts
  for i, url in ipairs(message.urls) do
    local name = keys:sub((i - 1) * 16 + 1, i * 16)
    local is_new = ctx.call('HEXISTS', ctx.prefix .. K.known, name) == 0
    count = count + (is_new and 1 or 0)
    if not is_new or count <= const.MAX_SITEMAPS then
      local place = #kept.links + 1
      kept.links[place], kept.urls[place] = 0, url
      kept.host_indexes[place] = message.host_indexes[i]
      kept.listings[place], kept_keys[place] = message.listings[i], name
      kept.scores[2 * place - 1], kept.scores[2 * place] = score and place, score
    end
  end
  return kept, table.concat(kept_keys)
end

steps.repeatable('add_listed', function(ctx, message, keys)
  if not leases.find(ctx, message.url_id, message.lease) then
    return false
  end
  local u, growth = urls.get(ctx, message.url_id), links.growth()
  local is_sitemaps = message.listings[1] and message.listings[1][3]
  local path = paths.behind(u, is_sitemaps)
  if is_sitemaps then
    message, keys = within_limit(ctx, message, keys)
  end
  links.add(ctx, growth, message, keys, path, ctx.now - ctx.rules.revisit_s, true)
  if not is_sitemaps then
    ctx.counts.listed = ctx.counts.listed + #growth.new
  end
  links.grow(ctx, growth)
  return #growth.new
end)
