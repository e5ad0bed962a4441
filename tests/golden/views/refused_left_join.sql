-- changes: r insert
SELECT r.a, s.c FROM r LEFT JOIN s ON r.b = s.b

-- generated --------------------------------------------------------------------------
-- NotYetSupported
-- [RV-JOIN-LEFT] at line 1, column 34 LEFT JOIN cannot be maintained from changes yet
-- Hint: policy 'auto' or 'full' keeps such a view by recompute
