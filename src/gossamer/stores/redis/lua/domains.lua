-- The registered domains: which worker serves each, until when, and how much it has of it.

local domains = {}

function domains.get(ctx, name)
  local d = ctx.domains[name]
  if not d then
    local packed = ctx.call('HGET', ctx.prefix .. K.domains, name)
    d = { name = name, worker = false, kept_until = 0, busy = 0 }
    if packed then
      d.worker, d.kept_until, d.busy = unpack(cmsgpack.unpack(packed))
    end
    ctx.domains[name] = d
  end
  return d
end

function domains.change(ctx, d)
  ctx.changed_domains[d.name] = d
end

-- Writes the records that have changed.
function domains.save(ctx)
  local out = {}
  for name, d in pairs(ctx.changed_domains) do
    out[#out + 1] = name
    out[#out + 1] = cmsgpack.pack({ d.worker, d.kept_until, d.busy })
  end
  commands.write(ctx, 'HSET', ctx.prefix .. K.domains, out)
end

return domains
