-- What a partition notes beside the rest.

-- The leases that this step has ended, by URL.
local ended = {}

-- Returns what the centre wants to know about budgets: all of it only grows.
local function report()
  return { R.partition, C.spent, C.pages, C.bytes }
end
