-- The context of one call: whose crawl, by which rules, at what moment, and what was read and
-- changed so far. Every function gets it first; nothing but the rules outlives the call.

local context = {}

-- The rules as they came last, and what they say: they are the same for millions of calls.
local last_packed, last_rules

local function rules_of(packed)
  if packed ~= last_packed then
    last_packed, last_rules = packed, cmsgpack.unpack(packed)
  end
  return last_rules
end

-- Makes the context. `args`: the rules; then when by the caller's clock, who calls, the number of
-- the call, whether it was perhaps carried out before, and which server the caller has found here.
function context.new(keys, args)
  local rules, asked = rules_of(args[1]), cmsgpack.unpack(args[2])
  local ctx = {
    call = redis.call,
    prefix = keys[1],
    rules = rules,
    now = asked[1], -- the moment of this call
    offset = 0, -- turns the caller's moments into the server's
    client = asked[2],
    number = asked[3],
    is_repeated = asked[4],
    server = asked[5], -- 0: it did not say
    counts = false, counts_before = false, unscored_before = 0, depth_changes = {}, queue_changes = {},
    urls = {}, changed_urls = {},
    hosts = {}, changed_hosts = {},
    domains = {}, changed_domains = {},
    limits = {}, -- of hosts, by name
    empty = {}, -- the sets of agendas in which no host's moment has come, by key
    bands = {}, -- whether those that were read are there, by key
    queue_lengths = {}, -- the lengths of workers' queues
    queue_growth = {}, -- by how much each has changed
    granted = {}, -- leases: URLs and records in turn
  }
  if not rules.given then
    local time = ctx.call('TIME')
    ctx.now = time[1] + time[2] / 1e6
    ctx.offset = ctx.now - asked[1]
  end
  return ctx
end

-- Reads the counters. Another server than the last time, restarted or promoted, may have forgotten
-- which hosts it was told of a moment ago, and who is at work. So every host counts as asked until
-- the last lease of that time is over: no worker asks anything longer than that without being told
-- that it may.
function context.read_counters(ctx)
  counters.read(ctx)
  local counts = ctx.counts
  if ctx.server > 0 and ctx.server ~= counts.server then
    if counts.server > 0 then
      counts.unsure = math.max(counts.unsure, ctx.now + ctx.rules.lease_s)
    end
    counts.server = ctx.server
  end
end

-- Writes everything that has changed.
function context.save(ctx)
  urls.save(ctx)
  hosts.save(ctx)
  domains.save(ctx)
  workers.save(ctx)
  counters.save(ctx)
end

return context
