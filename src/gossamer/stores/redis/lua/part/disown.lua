-- needs: base urls hosts rings agenda desk leases claims
-- Has claims dropped whose lease is over: somebody claimed late, or died before he was heard. All
-- that was said of the lease before goes before this.
for _, one in ipairs(A) do
  if not find_lease(one[1], one[2]) then
    send(R.partitions, { 'drop', one[1], one[2] })
  end
end
return done(true)
