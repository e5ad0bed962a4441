-- changes: r insert
SELECT a, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) AS n FROM r

-- generated --------------------------------------------------------------------------
-- NotYetSupported
-- [RV-WINDOW] at line 1, column 11 a window function cannot be maintained from changes yet
-- Hint: policy 'auto' or 'full' keeps such a view by recompute
