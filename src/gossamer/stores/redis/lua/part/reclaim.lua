-- needs: base
-- Gives back to the centre what was granted and is not in use.
C.granted = math.max(C.granted, A[1])
C.spent = C.granted - C.in_work
return done(report())
