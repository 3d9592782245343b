-- needs: base leases sketches claims
-- Returns again what was answered to a claim, if it was made with that lease.
local id, lease = A[1], A[2]
if newest_lease(id) ~= lease then
  return done({ lost = true })
end
local claim, refusal = find_claim(id), find_refusal(id)
return done({ page_id = claim and claim.number, twin_of = refusal and refusal.twin })
