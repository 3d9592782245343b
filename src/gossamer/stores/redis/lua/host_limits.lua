-- The limits of single hosts, by rules for their names, as in frontier/host_limits.py.

local host_limits = {}

local FIELDS = { 'delay_s', 'auto_delay', 'connections', 'max_pages', 'max_bytes', 'max_depth' }

local function matches(rule, name)
  if not rule.is_wild then
    return name == rule.host
  end
  local ending = '.' .. rule.host
  return rule.host == '' or name:sub(-#ending) == ending
end

local function find(ctx, name)
  local found, rules = {}, ctx.rules
  for _, rule in ipairs(rules.host_rules) do
    if matches(rule, name) then
      for _, field in ipairs(FIELDS) do
        if found[field] == nil then
          found[field] = rule[field]
        end
      end
    end
  end
  if found.delay_s == nil then
    found.delay_s, found.auto_delay = rules.delay_s, rules.auto_delay
  end
  found.connections = found.connections or rules.host_connections
  found.max_pages = found.max_pages or rules.max_host_pages
  found.max_depth = found.max_depth or rules.max_depth
  return found
end

-- Returns the limits of a host; where there is no budget or depth, that is nil.
function host_limits.of(ctx, name)
  if #ctx.rules.host_rules == 0 then
    name = '' -- all hosts have the same
  end
  local found = ctx.limits[name]
  if not found then
    found = find(ctx, name)
    ctx.limits[name] = found
  end
  return found
end

return host_limits
