-- needs: base urls hosts rings agenda desk leases
-- Tells whether a lease is the newest of its URL.
return done(find_lease(A[1], A[2]) ~= nil)
