-- needs: base urls hosts rings agenda scheduler
-- Lets a worker take part, or notes that it still does.
join(A[1])
C.closed = AT_WORK
return done(true)
